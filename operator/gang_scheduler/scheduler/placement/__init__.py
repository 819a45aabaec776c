"""Where members go: the nodes that each gang gets, by room, topology request and preferences.

Open `anywhere` first for members without a topology request, and `tree/gather` for members with
one.
"""
