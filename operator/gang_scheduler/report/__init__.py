"""Reports decisions to users: statuses, conditions, Events, metrics and logs.

Open `status_writer` first.
"""
