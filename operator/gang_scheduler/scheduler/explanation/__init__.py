"""Why one gang waits, and which change would help. All of it is asked at the turn of the gang.

Open `explain` first.
"""
