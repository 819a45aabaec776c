"""Elastic gangs at their pace: how many workers come, and which go. Pure.

| module | promise                                                                         |
|--------|---------------------------------------------------------------------------------|
| pace   | how many workers may be bound now, by cooldowns and whole steps                 |
| limits | a snapshot without the members that may not be bound now, and why these wait    |
| steps  | placements of surplus in whole steps                                            |
"""
