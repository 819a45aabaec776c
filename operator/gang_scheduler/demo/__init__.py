"""The demo: gangs that start whole, wait, preempt and share, told on one screen.

| module  | promise                                                              |
|---------|----------------------------------------------------------------------|
| story   | what is done and shown, scene by scene                               |
| world   | the objects of the story: nodes, gangs as Jobs, queues, priorities   |
| cluster | where it happens: the embedded API server, and the operator beside it |
| screen  | headings, pictures of nodes, and progress, with colours on terminals |

Start with `story`. `py-gang-scheduler demo` runs it on the embedded API server; the tools of the
repository run it on real ones.
"""
