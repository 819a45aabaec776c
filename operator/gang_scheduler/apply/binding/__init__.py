"""Binds placed gangs, and their claims before any of their pods.

| module        | promise                                                           |
|---------------|-------------------------------------------------------------------|
| binder        | binds a placed gang: which answers (429, none) it repeats, for    |
|               | how long; the pauses are those of `client.retry`                  |
| gang_binding  | members that are bound together, with the outcome of each         |
| volume_binder | binds the claims of placed gangs before any of their pods         |
| claim_waits   | the gangs that wait for claims while their room is held           |
"""
