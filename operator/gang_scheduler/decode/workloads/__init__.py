"""The kinds of workloads of which gangs are made: a module a family, one table of all kinds.

A new kind is its module, its row in `table` and its cases.

| module             | promise                                                       |
|--------------------|---------------------------------------------------------------|
| table              | all kinds, in the order in which they count for a pod         |
| kind               | what is known of a kind: its pods, and its objects            |
| kubeflow           | training jobs of Kubeflow                                     |
| role_templates     | gangs of workloads that have a pod template for each role     |
| ray_clusters       | RayClusters                                                   |
| ray_jobs           | RayJobs that wait suspended                                   |
| leader_worker_sets | LeaderWorkerSets                                              |
| volcano_pod_groups | PodGroups of Volcano                                          |
| kueue_pod_groups   | pod groups of Kueue                                           |
| spark              | executors of Spark                                            |
| stateful_sets      | StatefulSets                                                  |
| jobs               | Jobs                                                          |
| job_sets           | JobSets                                                       |
| exclusive_topology | JobSets each Job of which has a domain of its own             |
| train_jobs         | JobSets that TrainJobs own, and TrainJobs                     |
| members            | the pods that controllers would make of a workload            |
| queue_namers       | workloads that name the queue of pods which do not say it     |
| makers             | workloads that leave it to another one to make pods           |
| suspended          | workloads that wait suspended, and that were let start        |
| virtual_members    | the members that a suspended workload would have              |
| template_additions | what an admission added to the templates of a workload        |
| planned_nodes      | the nodes planned for its members, as an annotation has them  |
| job_failures       | what evictions mean for a Job                                 |
| misplaced_requests | what is asked for where the pods of a workload do not get it  |
"""
