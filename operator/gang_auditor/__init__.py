"""The auditor: watches a cluster, and reports forbidden actions of the scheduler.

It reads raw objects and counts quantities on its own. By a contract in pyproject.toml, the only
code that it shares with `gang_scheduler` are the names of labels, annotations and kinds (`api`) and
the connection to the API server (`client`). Open `auditor` first; `rules` has the promises that are
checked, and `findings` reports violations.
"""
