"""Names that are too long for their place: what tells them apart stays."""

from typing import Final

CUT: Final = "..."


def shortened(text: str, most: int) -> str:
    """Return a text that is no longer than `most`: its beginning and its end, which tell it apart.

    Spaces before it stay: they say how deep it is in a tree.
    """
    if len(text) <= most:
        return text
    kept = max(most - len(CUT), 2)
    return f"{text[: kept - kept // 2]}{CUT}{text[-(kept // 2) :]}"
