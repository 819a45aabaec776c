"""Causes why gangs wait, as data: each with the numbers and names that its message needs.

All are hashable, and equal if their fields are. Each has its words for people, and may have more
fields than these show. No code below `report` asks for the words. Open `gangs` first.
"""
