"""What is asked of a cluster as it is now: what waits, why, and what is where. Only reads.

The same cache and core as `run` and `simulate` have, filled once from one of several sources.

| module   | what it holds                                              |
|----------|------------------------------------------------------------|
| clusters | a cluster at one moment, whatever it was read from         |
| files    | clusters of manifests and of snapshots                     |
| live     | clusters of an API server, as far as one may read them     |
| servers  | an API server as a kubeconfig names it                     |
| awaited_claims | gangs with room whose volumes are being made           |
| gangs_set_aside | gangs that are hard to decide, as it is written       |
| profiles | the settings of the operator, from its ConfigMap           |
| snapshots | what is written of a cluster, so that it can be read again |
| origins  | where an answer comes from, in words                       |
| listing  | lists of gangs, queues, domains and nodes                  |
| namespaces | the namespaces that there are, and one that is not     |
| names    | names of objects, for shells that complete one             |
| history  | Events of gangs and pods                                   |
| explaining | why one gang waits, as a document and as text            |
"""
