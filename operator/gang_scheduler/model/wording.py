"""How times, counts and fields of metadata are written in messages and objects.

This module imports nothing of the package, so that the description of the API can use it, too.
"""

from datetime import UTC, datetime


def ordinal(number: int) -> str:
    """Return a number as an ordinal, such as 2nd."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def rfc3339(seconds: int) -> str:
    """Return a moment as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def counted(number: int, noun: str) -> str:
    """Return a number of things; the noun is made a plural by an s."""
    return f"{number} {noun}{'s' * (number != 1)}"


def field(key: str) -> str:
    """Return the field of an annotation, as in errors."""
    return f"metadata.annotations[{key}]"


def label_field(key: str) -> str:
    """Return the field of a label, as in errors."""
    return f"metadata.labels[{key}]"
