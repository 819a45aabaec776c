"""The Api port in memory, for tests: answers as an API server does, and fails on demand.

| module    | promise                                                            |
|-----------|--------------------------------------------------------------------|
| cluster   | the server's side: the objects and their watchers                  |
| documents | objects as the server keeps them: what it requires, how they merge |
| client    | one client's side: its calls; several may share a cluster          |
| faults    | faults of the calls of a client                                    |

The contract tests hold this package and `kubernetes` to the same answers.
"""
