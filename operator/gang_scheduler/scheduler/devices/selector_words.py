"""Selectors of a request in words, for messages: `memory >= 80Gi` instead of an expression in CEL.

Only the usual forms are put into words. If one part of a selector is not among them, nothing is
guessed: the words then only say that there are selectors.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

MATCHING: Final = "that match its selectors"

_NAME: Final = (
    r"device\s*\.\s*(?:attributes|capacity)\s*\[\s*(?:'[^']*'|\"[^\"]*\")\s*\]\s*\.\s*(?P<name>\w+)"
)
_TEXT: Final = r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")"
_COMPARED: Final = re.compile(
    rf"{_NAME}\s*\.\s*compareTo\(\s*(?:quantity|semver)\(\s*{_TEXT}\s*\)\s*\)"
    r"\s*(?P<sign>==|!=|>=|<=|>|<)\s*0"
)
_ASKED: Final = re.compile(
    rf"{_NAME}\s*\.\s*is(?P<sign>Greater|Less)Than\(\s*(?:quantity|semver)\(\s*{_TEXT}\s*\)\s*\)"
)
_EQUAL: Final = re.compile(
    rf"{_NAME}\s*(?P<sign>==|!=|>=|<=|>|<)\s*(?:{_TEXT}|(?P<bare>-?\d+|true|false))"
)
_IS_TRUE: Final = re.compile(rf"(?P<no>!?)\s*{_NAME}")
_SAID_BY_THE_CLASS: Final = re.compile(
    rf"device\s*\.\s*driver\s*==\s*(?:'[^']*'|\"[^\"]*\")|has\(\s*{_NAME}\s*\)"
)
_PARTS: Final = re.compile(r"'[^']*'|\"[^\"]*\"|&&|\|\||[()\[\]]|.", re.DOTALL)
_SIGNS: Final = {"==": "=", "Greater": ">", "Less": "<"}


def conditions(selectors: Sequence[str]) -> str:
    """Return the conditions of selectors in words, to put after a class name; "" without any."""
    said: list[str] = []
    for selector in selectors:
        for part in _joined_by_and(selector):
            if _SAID_BY_THE_CLASS.fullmatch(part):
                continue
            words = _in_words(part)
            if words is None:
                return MATCHING
            said.append(words)
    return f"with {' and '.join(said)}" if said else ""


def _in_words(part: str) -> str | None:
    for form in (_COMPARED, _ASKED, _EQUAL):
        if found := form.fullmatch(part):
            values = found.groupdict()
            value = next(
                each for each in map(values.get, ("single", "double", "bare")) if each is not None
            )
            return f"{found['name']} {_SIGNS.get(found['sign'], found['sign'])} {value}"
    if found := _IS_TRUE.fullmatch(part):
        return f"{found['name']} = {'false' if found['no'] else 'true'}"
    return None


def _joined_by_and(selector: str) -> Iterator[str]:
    """Yield the parts of a selector that must all hold."""
    depth, part = 0, ""
    for found in _PARTS.finditer(selector):
        piece = found[0]
        depth += (piece in "([") - (piece in ")]")
        if piece == "&&" and not depth:
            yield part.strip()
            part = ""
        else:
            part += piece
    yield part.strip()
