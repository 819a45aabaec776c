"""Gangs: their members, their groups, and their turn to be tried. Open `gang_info` first."""
