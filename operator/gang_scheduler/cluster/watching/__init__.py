"""How the cluster is watched: one table of kinds (`watched.py`), and two sources that fill it.

`kopf_source.py` runs Kopf's handlers, and `sweep.py` finds what they missed. `reflector.py` lists
and watches by itself (`list_watch.py`), for large clusters.
"""
