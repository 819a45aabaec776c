"""The real kube-scheduler as the oracle of our filters: both must allow the same nodes.

    python -m differential                          60 random cases
    python -m differential --cases 500 --seed 1000  the cases 1000 to 1499
    python -m differential --cases 1 --seed 1042    one of them again, everything told

A case is a small cluster and pods that wait, drawn from its seed. It is put on a real control
plane, where kube-scheduler's verdict on every pod and node is overheard (see `oracle`). The same
objects are read back through the API and taken in as our operator does, by a cache that has seen
all cases before and by a new one, and our filters are asked about the same pods and nodes. Every
difference is printed, unless `explanations` has a reason for it, and a difference without a reason
is a failure.

| module       | what                                                             |
|--------------|------------------------------------------------------------------|
| worlds       | a small random cluster as manifests                              |
| features     | what a cluster may have and a pod may ask, one subject a file    |
| cases        | which features go into a case, and which pods use which          |
| extender     | the ear: an HTTP extender that lets no node pass                 |
| oracle       | kube-scheduler with that ear, and its verdicts                   |
| stage        | the case's objects on the API server: put up and cleared away    |
| ours         | our verdicts on what the API server shows                        |
| explanations | differences that are decisions of ours                           |
| orders       | in which order filters look at a node, here and there            |
| judge        | compares both, and looks twice before it says that they differ   |
| run          | a control plane, and case after case                             |
| report       | what was compared, and what was found                            |
| faults       | differences without a reason, in lines for people                |
"""
