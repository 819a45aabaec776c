"""Gangs: their members, their groups, and whether a cycle tries them. Open `gang_info` first."""
