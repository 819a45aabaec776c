"""What is watched, one event after the other.

| module    | promise                                          |
|-----------|--------------------------------------------------|
| events    | an event of a watch, and as a line of a recording |
| live      | the events of a cluster                          |
| recording | the events of a file                             |
"""
