"""The base of all structs, and the ranges of integers."""

from typing import Annotated

from msgspec import Meta, Struct

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""A wanted number of pods, Jobs or completions: an int32 that is not negative."""


class Wire(Struct, rename="camel", frozen=True, gc=False, omit_defaults=True):
    """Base of all these structs: camelCase on the wire, and invisible to the garbage collector.

    Encoded again, they are what was read.
    """
