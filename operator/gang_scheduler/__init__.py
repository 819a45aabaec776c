"""A Kubernetes scheduler for gangs of pods: all of them start, close together, or none does.

One way of data, top to bottom:

    Kubernetes watch -> cluster.handlers -> cluster.cache -> model.snapshot
        -> scheduler.cycle.schedule() -> model.plan
        -> cluster.binder, cluster.evictor -> cluster.status, cluster.events -> Kubernetes

| package    | what it holds                                                                  |
|------------|--------------------------------------------------------------------------------|
| model      | frozen nouns: resources, pods, nodes, gangs, tenants, snapshot, plan           |
| scheduler  | pure verbs; `cycle.py` is the file to open first                               |
| cluster    | everything that talks to Kubernetes; the only place that imports kopf          |
| api        | our CRDs and the accepted annotations as pydantic models                       |
| loop       | wait, snapshot, decide, apply, report                                          |
| app        | builds the parts and owns the one task group                                   |
| simulation | the same core with no cluster: manifests in, decisions out                     |
| cli        | the command line                                                               |

Layers (import-linter enforces them): cli > app > loop > cluster > scheduler > model.
"""

__version__ = "0.1.0"
