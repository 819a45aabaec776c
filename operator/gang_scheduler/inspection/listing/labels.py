"""Label selectors as kubectl writes them: `app=a,tier!=b,x in (y,z),!w`."""

import re
from collections.abc import Callable, Mapping
from typing import Final

Labels = Mapping[str, str]
Matches = Callable[[Labels], bool]

_PART: Final = re.compile(
    r"\s*(?:(?P<key>[\w./-]+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<left>[\w./-]+)\s*(?P<is>==|=|!=)\s*(?P<right>[\w.-]*)"
    r"|(?P<no>!?)\s*(?P<name>[\w./-]+))\s*(?:,|$)"
)


def parsed(selector: str) -> Matches:
    """Return whether labels match a selector. Raises ValueError for one that is none."""
    tests: list[Matches] = []
    place = 0
    while place < len(selector):
        part = _PART.match(selector, place)
        if part is None:
            raise ValueError(f"no label selector: {selector[place:]!r}")
        tests.append(_test(part))
        place = part.end()
    return lambda labels: all(test(labels) for test in tests)


def _test(part: "re.Match[str]") -> Matches:
    if key := part["key"]:
        values = {each.strip() for each in part["values"].split(",")}
        return _in(key, values, wanted=part["op"] == "in")
    if key := part["left"]:
        return _in(key, {part["right"]}, wanted=part["is"] != "!=")
    name, wanted = part["name"], not part["no"]
    return lambda labels: (name in labels) is wanted


def _in(key: str, values: set[str], *, wanted: bool) -> Matches:
    if wanted:
        return lambda labels: key in labels and labels[key] in values
    return lambda labels: labels.get(key) not in values
