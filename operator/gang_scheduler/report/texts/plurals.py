"""Numbers of things in words."""


def counted(number: int, noun: str) -> str:
    """Return a number of things; the noun is made a plural by an s."""
    return f"{number} {noun}{'s' * (number != 1)}"
