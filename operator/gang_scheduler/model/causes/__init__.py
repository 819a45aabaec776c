"""Causes why gangs wait, as data: each with the numbers and names that a message needs.

All are hashable, and equal if their fields are. Each says what people read of it, and may have more
fields than that shows; nothing below report asks for its words. Open `gangs` first.
"""
