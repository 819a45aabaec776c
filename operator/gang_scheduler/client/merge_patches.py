"""JSON merge patches (RFC 7396) made of what an object is and what it is to be.

A patch replaces lists as a whole, so one with a list in it is only safe for the very version of the
object that it was made of.
"""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]


def between(before: Document, after: Document) -> dict[str, Any]:
    """Return the smallest patch that makes `after` of `before`; empty if they are equal.

    A null in a map of `after` is taken as absent, as in every patch.
    """
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, wanted in after.items():
        there = before.get(key)
        if isinstance(wanted, Mapping) and isinstance(there, Mapping):
            if changes := between(there, wanted):
                patch[key] = changes
        elif key not in before or wanted != there:
            patch[key] = wanted
    return patch
