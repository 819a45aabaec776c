"""Claims and volumes as last seen, with decisions that are assumed until they are seen.

Open `volume_cache` first.
"""
