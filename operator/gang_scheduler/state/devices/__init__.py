"""Claims of devices, their classes and slices as last seen, with allocations that are assumed.

Open `device_cache` first.
"""
