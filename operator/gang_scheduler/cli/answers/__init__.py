"""What each command does once its line is parsed, imported when it is called.

Help and completion need none of it: there it would take longer than all else.

| module   | what it holds                                              |
|----------|------------------------------------------------------------|
| audit    | `audit`: a witness of what the scheduler does              |
| cluster  | `cluster`: the nodes of each domain, and what is on a node |
| demo     | `demo`: a story on an API server of its own                |
| explain  | `explain`: why a gang waits, and what would help           |
| list     | `list`: all gangs, in the order of turns                   |
| queues   | `queues`: the tree of queues, and what waits in one        |
| simulate | `simulate`: decisions on manifests                         |
| snapshot | `snapshot`: a cluster in a file                            |
"""
