"""What the controllers of workloads create of them: pods, and the objects on the way to pods.

One row a kind in `table`; a new kind is its row, its function in the file of its family, and its
case. What a controller would only create later, when other pods are ready, is created with the rest
of a manifest, as the question is what becomes of it; of a workload from a cluster only what its
controller would create now.

| module             | promise                                                                |
|--------------------|------------------------------------------------------------------------|
| table              | the one table: kind, versions, what it makes, when it has ended        |
| source             | a workload, with what there is of it already                           |
| present            | what there is already, by name and by controller                       |
| lifecycle          | whether a controller creates what is missing: suspended, ended, others' |
| bodies             | pods of a template, owner references, random names                     |
| jobs               | Job, CronJob                                                           |
| job_sets           | JobSet, and TrainJob, of which a JobSet comes                          |
| exclusive          | a domain for each group of pods, as webhooks write it into pods        |
| apps               | StatefulSet, ReplicaSet, Deployment                                    |
| kubeflow           | PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob                       |
| mpi                | MPIJob of both operators                                               |
| ray                | RayCluster, RayJob, RayService                                         |
| leader_worker_sets | LeaderWorkerSet, and what its webhook adds to pods                     |
| volcano            | Job of Volcano, with its PodGroup                                      |
| spark              | SparkApplication: driver and executors                                 |
| wrappers           | AppWrapper                                                             |
"""
