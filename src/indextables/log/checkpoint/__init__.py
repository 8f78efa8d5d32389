"""Checkpoints: the state of a version in few files, so that opening a table does not mean reading its whole past."""
