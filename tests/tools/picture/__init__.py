"""The picture of the README: a real run on 16 nodes, recorded and drawn as an animated SVG."""
