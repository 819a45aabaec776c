"""Starts suspended workloads that were admitted, and suspends them again.

| module           | promise                                                        |
|------------------|----------------------------------------------------------------|
| admitter         | starts suspended workloads that were admitted                  |
| suspender        | suspends them again                                            |
| workload_patches | the patches that start and suspend workloads                   |
| workload_objects | reads and patches workloads, in whatever version               |
| whole_workloads  | workloads that lose all of their pods, and are suspended       |
"""
