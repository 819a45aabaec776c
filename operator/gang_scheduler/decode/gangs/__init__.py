"""Gangs, as objects and pods declare them. Open `specs` first."""
