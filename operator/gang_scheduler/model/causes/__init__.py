"""Why gangs wait, as data: each cause has the numbers and names for its message.

Causes are hashable, and equal if their fields are equal. `text` says a cause in words, which need
not show all fields; no code below `report` reads these words. Open `gangs` first.
"""
