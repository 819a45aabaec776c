"""Tells of checkpoints: in the status of PodGroups, by Events and in metrics.

| module    | promise                                                            |
|-----------|--------------------------------------------------------------------|
| status    | what the status of a PodGroup says                                 |
| announcer | tells what happens, as it happens: Events, log lines and a metric  |
"""
