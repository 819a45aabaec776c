"""Rules of the auditor: each has the source of its promise, and the cases that it does not flag.

Open `table` for all rules, and `room` for the simplest ones.
"""
