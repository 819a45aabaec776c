"""Recordings of a cluster: what is written of its objects and gangs, and how it is read again.

Open `form` first.
"""
