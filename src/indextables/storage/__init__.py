"""Bytes at paths: one port, one adapter a kind of store, one place for retries."""
