"""What pods ask of each other: `rules.py` reads it, `book.py` finds whom it means.

`headcounts.py` counts them on the nodes.
"""
