"""Builds the image without a container engine: `make image`.

`packages` installs what the image holds, by hash; `layer` writes that as one layer, with the same
bytes from the same packages; `build` puts the layer on a base image, by crane.
"""
