"""Faults of every kind, on a cluster that is used: `python -m tools.chaos`, `make chaos`.

workload       what users do, drawn from a seed
users          does it
job_sets       makes the Jobs of JobSets
faults         a module a family; each fault has a name, a begin and an end
storm          which fault comes when, drawn from the seed, and the storm itself
site           the control plane, the replicas, the account that they have
replica        one replica, of any version
releases       the code of the last release
proxy          between a replica and the API server
stepped_clock  the operator with a wall clock that can be set
witness        what was seen of pods, and what in it must never be
settled        the state at rest, judged
report         the table by kind of fault
run            all of it together
"""
