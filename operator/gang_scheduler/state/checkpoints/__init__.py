"""What gangs have saved, and which of them are asked to: what objects say, and what happened here.

Statuses of PodGroups keep it over a restart, and requests that stand are on the pods themselves.

| module   | promise                                                                  |
|----------|--------------------------------------------------------------------------|
| records  | what each gang has saved, and what it was asked                          |
| reports  | what is reported, until it is taken in                                   |
| resuming | what bindings say of the checkpoint that a gang goes on from             |
"""
