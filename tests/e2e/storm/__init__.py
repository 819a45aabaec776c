"""Two replicas under faults at random, and a witness of what they did: `python -m e2e.storm`.

`work` creates and deletes gangs, `faults` does what networks, servers and kubelets do at times,
and `invariants` has seen every pod, and every request to the API server, on its own.
"""
