"""Every setting once."""
