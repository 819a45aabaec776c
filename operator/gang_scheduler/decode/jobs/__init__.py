"""Jobs and JobSets, by what they say and by what the pods of their templates say.

| module             | promise                                                       |
|--------------------|---------------------------------------------------------------|
| job_objects        | a Job or JobSet, with all that it says                        |
| job_failures       | what evictions mean for a Job, and whose gang it was          |
| misplaced_requests | what is asked for where the pods of a workload do not get it  |
"""
