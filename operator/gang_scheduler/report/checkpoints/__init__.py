"""Tells of checkpoints: in the status of PodGroups, on Jobs, by Events and in metrics.

| module        | promise                                                            |
|---------------|--------------------------------------------------------------------|
| status        | what the status of a PodGroup says                                 |
| latest_writer | writes the last checkpoint of a gang on its Job                    |
| announcer     | tells what happens, as it happens: Events, log lines and a metric  |
"""
