"""The demo: gangs that start whole, wait, preempt and share, shown on one screen.

Open `story` first. `py-gang-scheduler demo` runs it on the embedded API server; the tools of the
repository run it on real ones.
"""
