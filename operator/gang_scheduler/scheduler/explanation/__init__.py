"""Why one gang waits, and which change would help.

All of it refers to the state of the cycle at the gang's turn. Open `explain` first.
"""
