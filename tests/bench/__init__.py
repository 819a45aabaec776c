"""How fast gangs are bound on a real API server, beside the fastest that anyone could be.

    python -m bench                       250 gangs of 20 on 1,000 nodes
    python -m bench --gangs 20 --size 250 --nodes 5000 --json results.json

Every contestant gets a control plane of its own, without KWOK and with priority and fairness off.
All pods exist before it starts, so what is measured is the way from pending to bound ("drain").
Figures come from the audit log and from /proc. They never pass or fail: on two cores the API
server and the scheduler compete, so compare contestants of one run.

| module  | what                                                                  |
|---------|-----------------------------------------------------------------------|
| shape   | how many gangs of how many pods on how many nodes, and creating them  |
| run     | one contestant on a fresh control plane: the figures                  |
| ceiling | the contestant that only binds: what the API server takes             |
"""
