"""The quota of each queue: trees of promises, and the charges on them, as exact integers.

Open `trees` first, then `promises`.
"""
