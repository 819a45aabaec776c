"""Fields that are read of objects, as the API server sends them. All other fields are skipped.

msgspec checks the types and names the path of a wrong field; the same structs decode the bytes of
a watch and the dicts that Kopf hands out. Open `core` first, then `pods`.
"""
