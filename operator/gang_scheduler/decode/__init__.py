"""Decodes objects into the types of the model: pure functions. Open `events` first.

An error names the field and the value. `reader` says how a kind is read.
"""
