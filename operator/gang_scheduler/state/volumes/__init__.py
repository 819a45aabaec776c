"""Claims and volumes as last seen, and as they will be once our writes are seen.

| module         | promise                                                           |
|----------------|-------------------------------------------------------------------|
| volume_cache   | the door: what a pod needs, what must be written, how far that is |
| store          | claims, volumes and what makes them, by uid and by name           |
| assume_cache   | what was decided of claims, until the API server shows it         |
| claim_steps    | what has to happen to a claim before its pod is bound             |
| claim_progress | how far a claim is on its way to being bound                      |
| claim_users    | which pods use which claims                                       |
| pod_storage    | what the volumes of a pod need of a node                          |
| usage          | claims, disks and drivers in use on nodes                         |
| snapshot       | what a snapshot has to know of volumes                            |
"""
