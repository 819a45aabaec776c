"""Carries out a plan: binds, evicts, requests nodes, and takes back unfinished changes.

Open `plan` first.
"""
