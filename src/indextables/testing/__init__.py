"""Test instruments: stores with exact semantics in memory, and faults injected at any call. Not needed to use tables."""
