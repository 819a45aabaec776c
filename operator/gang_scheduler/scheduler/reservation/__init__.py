"""Promised starts of large gangs, and which other gangs may start before them.

The calculation releases running gangs in the order of their expected ends. The first point in that
sequence at which the gang fits is its reservation. A later gang is admitted only if the reservation
stays possible. Open `reservations` first.
"""
