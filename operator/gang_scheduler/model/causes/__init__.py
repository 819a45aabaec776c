"""Causes why gangs wait, as data: each with the numbers and names for its message.

All are hashable, and equal if their fields are. Each has its words for people, which need not show
all of its fields. No code below `report` reads the words. Open `gangs` first.
"""
