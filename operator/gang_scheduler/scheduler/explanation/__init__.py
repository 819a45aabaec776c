"""Why one gang waits, and which change would help: asked in the cycle, when it reaches the gang.

Open `explain` first.
"""
