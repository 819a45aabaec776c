"""Pure functions: a snapshot in, a plan out. Open `cycle` first."""
