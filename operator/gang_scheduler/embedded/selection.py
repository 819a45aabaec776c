"""Label and field selectors: which objects a list or a watch requests."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.refusals import Refused

OF_STORED_EVENTS: Final = (
    ("involvedObject.", "regarding."),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource.component"),
)
Labels = Mapping[str, str]
Holds = Callable[[Labels], bool]
OF_SET: Final = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s+\(([^()]*)\)\s*")
EQUAL: Final = re.compile(r"\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*")
THERE: Final = re.compile(r"\s*(!?)\s*([^\s!=,()]+)\s*")


class Selection(NamedTuple):
    """The parsed selectors of a request."""

    namespace: str = ""
    labels: tuple[Holds, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether the request has no selector; it may still be limited to a namespace."""
        return not (self.labels or self.fields)

    def has(self, document: Document) -> bool:
        """Return whether the request selects an object, given as it is stored."""
        metadata = document["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        labels = metadata.get("labels") or {}
        return all(holds(labels) for holds in self.labels) and all(
            (field(document, path) == value) is equal for path, value, equal in self.fields
        )


def read(served: Served, namespace: str, query: Mapping[str, str]) -> Selection:
    """Return the selection that a query describes. Raises Refused if it is unreadable."""
    return Selection(
        namespace,
        tuple(_of_labels(query.get("labelSelector", ""))),
        tuple(_of_fields(served, query.get("fieldSelector", ""))),
    )


def field(document: Document, path: str) -> str:
    """Return the field at a path as text, "" if it is absent."""
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _of_labels(text: str) -> Iterator[Holds]:
    at = 0
    while at < len(text):
        found = OF_SET.match(text, at) or EQUAL.match(text, at) or THERE.match(text, at)
        end = found.end() if found else at
        if found is None or (end < len(text) and text[end] != ","):
            raise Refused(400, f"unable to parse requirement: {text[at:]!r} of labelSelector")
        yield _holds(found)
        at = end + 1


def _holds(found: re.Match[str]) -> Holds:
    if found.re is THERE:
        absent, key = bool(found[1]), found[2]
        return lambda labels: (key in labels) is not absent
    key = found[1]
    if found.re is EQUAL:
        value, equal = found[3], found[2] != "!="
        return lambda labels: (labels.get(key) == value) is equal
    values, among = {each.strip() for each in found[3].split(",")}, found[2] == "in"
    return lambda labels: (labels.get(key) in values) is among


def _of_fields(served: Served, text: str) -> Iterator[tuple[str, str, bool]]:
    for part in filter(None, text.split(",")):
        path, operator, value = _divided(part)
        if path not in served.fields:
            raise Refused(400, f'field label not supported: "{path}"')
        # Events are stored in the version of events.k8s.io.
        for core, stored in OF_STORED_EVENTS if served.kind == "Event" else ():
            path = path.replace(core, stored)
        yield path, value, operator != "!="


def _divided(part: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        if operator in part:
            return part.partition(operator)
    raise Refused(400, f"invalid field selector: {part!r}")
