"""Nodes that are bought for gangs that lack nothing but room.

| module   | promise                                                             |
|----------|---------------------------------------------------------------------|
| asking   | which groups of a cycle wait for nodes that are bought, and say so   |
| judging  | whether a gang asks now, waits, or has asked often enough            |
| pod_sets | what is asked for: members alike, their number, the labels of nodes  |
| digests  | what is asked for in a few letters: the same ones in every process   |
"""
