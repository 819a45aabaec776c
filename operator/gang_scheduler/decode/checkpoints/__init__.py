"""What annotations, statuses and termination messages say of checkpoints.

`policies` is strict: a gang that asks for a mode that there is not must not be evicted as if it had
asked for none. `reports` is lenient: an answer that cannot be read is none.
"""
