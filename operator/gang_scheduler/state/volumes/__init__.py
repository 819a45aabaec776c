"""Claims and volumes as last seen, with what is assumed until our writes are seen.

| module         | promise                                                           |
|----------------|-------------------------------------------------------------------|
| volume_cache   | the door: what a pod needs, what to write, and its progress       |
| store          | claims, volumes and other storage objects, by uid and by name     |
| assume_cache   | decisions on claims and volumes, until the API server shows them  |
| claim_steps    | what has to happen to a claim before its pod is bound             |
| claim_progress | whether a claim is bound, waits, or has failed                    |
| claim_users    | which pods use which claims                                       |
| pod_storage    | what the volumes of a pod need of a node                          |
| usage          | claims, disks and drivers in use on nodes                         |
| snapshot       | the volumes of a snapshot                                         |
"""
