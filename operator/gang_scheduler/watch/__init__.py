"""Keeps up with the API server: every change of every watched kind, and no deletion missed.

What is watched is the table `state.kinds`. Two sources do the same: Kopf's handlers with a sweep
beside them, or list and watch of our own.

| module            | promise                                                      |
|-------------------|--------------------------------------------------------------|
| source            | the protocol of a source                                     |
| decisive_kinds    | the kinds that are always served, and never long out of date |
| optional_kinds    | the kinds without which only some pods wait                  |
| kopf_source       | runs Kopf, and starts it again when it ends                  |
| kopf_handlers     | the Kopf handlers: each hands its event on                   |
| kopf_lists        | takes in the lists of Kopf at once                           |
| kopf_requests     | which requests of Kopf are answered; ends its silent watches |
| watch_ages        | how long ago each watch last gave a sign of life             |
| supervisor        | begins watches anew that give none, and says what is dead    |
| sweep             | compares the cache with a list, for what Kopf missed         |
| reflector         | the other source: a `list_watch` for each kind               |
| list_watch        | a list, and from its version on a watch, over and over       |
| deletion_grace    | lets queues count for a moment after they were deleted       |
| live              | one list of each kind, for questions that are asked once     |
| known_objects     | what one kind has told so far: what is new, and what is gone |
| relist            | lists of all kinds, on demand, past every watch              |
| synced            | whether anything may have been missed, and since when        |
| envelope          | what is read of lists and watch events themselves            |
| line_stream       | from chunks of an answer to its lines                        |
| quota_controllers | whether other products decide quota here, by their Leases    |
"""
