"""How a struct of any kind is read."""

from msgspec import Struct


class Wire(Struct, rename="camel", frozen=True, gc=False):
    """Base of all these structs: camelCase on the wire, and invisible to the garbage collector."""
