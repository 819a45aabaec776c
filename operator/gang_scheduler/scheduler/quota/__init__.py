"""The quota of each queue: what its tree promises it, and what is charged to it, as exact integers.

Open `trees` first, then `promises`.
"""
