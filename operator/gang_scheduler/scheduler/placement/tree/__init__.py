"""Where members with a topology request go: close together in the tree of network domains.

Open `gather` first. `one_class` chooses among domains; `mixed_classes` is for members that ask for
different resources.
"""
