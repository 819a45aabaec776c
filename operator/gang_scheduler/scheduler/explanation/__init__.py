"""Why one gang waits, and what would help: asked at its turn in the cycle that decides it.

| module      | what it holds                                                     |
|-------------|-------------------------------------------------------------------|
| explain     | the explanation of one gang: open it first                        |
| findings    | what an explanation says, as data                                 |
| watching    | the cycle as it was at the turn of one gang                       |
| positions   | which gangs come before it                                        |
| starts      | when it starts: by promise, or once others have ended             |
| quotas      | what its queue and those above it may use, use, and would use     |
| rejections  | which filter keeps members from which nodes                       |
| nodes       | how many nodes take a member, and what keeps it from the others   |
| domains     | how many members each domain takes, and what the next one lacks   |
| holders     | which gangs hold the room of a node                               |
| evictions   | what room was made, or what forbids it                            |
| lacks       | the room that a gang lacks beside quota, and which comes first    |
| changes     | the snapshot with one thing changed                               |
| relief      | what could be asked less strictly, and quota that may be enough   |
| variants    | with which change it would start now                              |
"""
