"""Causes why gangs wait, as data: each with the numbers and names that a message needs.

All are hashable, and equal if they say the same. Their words are in `report/words`, so a cause
may have more fields than its text shows; open `gangs` first.
"""
