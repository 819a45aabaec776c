"""The auditor: watches a cluster, and reports what the scheduler must not have done.

It reads raw objects and counts quantities on its own: by a contract in pyproject.toml it shares
nothing with `gang_scheduler` but the names of labels, annotations and kinds (`api`) and the
connection to the API server (`client`). Open `auditor` first.
"""
