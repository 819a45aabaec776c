"""The lives of one gang, a record each, changed by its own methods only.

| module       | promise                                            |
|--------------|----------------------------------------------------|
| observed     | its members and specs, and what follows from them  |
| summary      | what its living members say together               |
| attempt      | how far it has come since its members were created |
| quorum_age   | since when its quorum is complete, for its place   |
| verdict      | what its last try found                            |
| scaling      | when it last grew or shrank, if it is elastic      |
| preemption   | the preemptions for it, and of its own members     |
| losses       | the nodes that members were lost with              |
| volume_waits | its members that have room and wait for claims     |
| version      | counts its changes, for what is made of it         |
"""
