"""Logs and metrics: written by the loop and around it, never by the core. Open `metrics` first."""
