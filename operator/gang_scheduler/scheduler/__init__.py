"""Pure verbs: a snapshot in, a plan out. Open `cycle.py` first."""
