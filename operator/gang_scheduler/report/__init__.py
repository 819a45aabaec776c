"""Tells users what was decided: statuses, conditions, Events, metrics and logs.

Open `status_writer` first.
"""
