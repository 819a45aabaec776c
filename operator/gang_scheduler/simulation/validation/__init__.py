"""Faults for which an API server refuses a manifest, and fields that it does not know.

Open `objects` first. `kubernetes.json` is the schema that an API server publishes for its own
kinds; `make schemas` writes it.
"""
