"""A fake API server in memory, for tests: answers as a real one does, and fails on demand.

Contract tests hold this package and `kubernetes` to the same answers. Open `cluster` first.
"""
