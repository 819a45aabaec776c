"""Recordings of a cluster: which of its objects and gangs are written, and how they are read.

Open `file_format` first.
"""
