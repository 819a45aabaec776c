"""Claims and volumes as last seen, with decisions assumed until the API server shows our writes.

Open `volume_cache` first.
"""
