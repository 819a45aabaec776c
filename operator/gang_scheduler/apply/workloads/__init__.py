"""Starts suspended workloads that were admitted, and suspends them again. Open `starts` first."""
