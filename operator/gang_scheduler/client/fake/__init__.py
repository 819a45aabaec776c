"""The Api port in memory, for tests: answers as an API server does, and fails on demand.

`cluster.py` is the server's side: the objects and their watchers. `client.py` is one client's side:
its calls, and their faults (`faults.py`). Several clients may share a cluster.
The contract tests hold this package and `kubernetes` to the same answers.
"""
