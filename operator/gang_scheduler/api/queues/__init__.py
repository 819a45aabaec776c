"""The CRD of Queues.

| module | promise                                                                 |
|--------|-------------------------------------------------------------------------|
| queue  | the kind, and its spec                                                  |
| quota  | how much a Queue is promised, and what it borrows                       |
| rules  | what gangs must keep to, and which may be evicted for which             |
| status | what became of a Queue                                                  |
| values | what the fields of a Queue may hold                                     |
"""
