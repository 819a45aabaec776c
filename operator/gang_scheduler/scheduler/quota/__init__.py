"""The quota of each queue: trees of promises, and the charges on them. Exact integers.

Open `trees` first, then `promises`.
"""
