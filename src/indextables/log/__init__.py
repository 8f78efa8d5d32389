"""The transaction log: actions, their bytes, and the state that they add up to."""
