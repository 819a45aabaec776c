"""Keeps up with the API server: every change of every watched kind, and no deletion missed.

The table `state.kinds` lists the watched kinds. There are two sources with the same result: Kopf's
handlers together with a sweep (`kopf`), or list and watch of our own. Open `reflector` first.
"""
