"""Promised starts of large gangs, and which gangs may start before them meanwhile.

The calculation releases running gangs by their expected ends: the first place in that sequence at
which the gang fits is its reservation, and a later gang is admitted only if that place stays.
Open `reservations` first.
"""
