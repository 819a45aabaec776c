"""What is read of objects, as the API server sends them. Everything else is skipped.

msgspec checks the types and names the path of what is wrong. The same structs decode the bytes
of a watch and the dicts that Kopf hands out.
"""
