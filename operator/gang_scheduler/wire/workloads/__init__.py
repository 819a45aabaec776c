"""Workloads, as far as they say what gangs their pods are.

| module   | promise                   |
|----------|---------------------------|
| jobs     | Jobs and JobSets          |
| apps     | StatefulSets              |
| kubeflow | training jobs of Kubeflow |
| ray      | RayClusters, RayJobs      |
| lws      | LeaderWorkerSets          |
| spark    | SparkApplications         |
"""
