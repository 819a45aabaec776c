"""The fields that are read of objects from the API server. All other fields are skipped.

msgspec checks the types and names the path of an invalid field. The same structs decode the bytes
of a watch and the dicts from Kopf. Open `base` first, then `pods`.
"""
