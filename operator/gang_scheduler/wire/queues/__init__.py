"""Queues of other products, and what is charged there.

| module  | promise                                      |
|---------|----------------------------------------------|
| kueue   | queues of Kueue, and the objects around them |
| volcano | Queues and PodGroups of Volcano              |
| flavors | ResourceFlavors                              |
"""
