"""Frozen nouns that the scheduler decides on. No I/O, no clock, integers only."""
