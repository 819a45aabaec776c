"""Which kinds and versions are known, and which spelling of one is a mistake."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.names import group_of
from gang_scheduler.decode.reader import Reader
from gang_scheduler.decode.workloads.members.table import ROWS, Row
from gang_scheduler.state.kinds import KINDS

Kind = Reader[Any]


def _only_expanded(row: Row) -> Kind:
    """Return the kind of a workload that is not watched: only what is made of it is read."""
    return Reader(kind=row.kind, versions=row.versions, read=lambda body: body)


_WATCHED: Final = {(each.reader.kind, each.reader.gvr.group) for each in KINDS}
ALL: Final[tuple[Kind, ...]] = (
    *(each.reader for each in KINDS),
    *(_only_expanded(each) for each in ROWS if each.key not in _WATCHED),
)


def kind_of(body: Mapping[str, Any]) -> Kind | None:
    """Return the kind of an object, None for an unknown one.

    Raises InvalidField for a misspelt kind and for a version that does not exist. The same name
    in a product's own API group is another kind, and not a mistake.
    """
    name, api_version = _text(body, "kind"), _text(body, "apiVersion")
    alike = [each for each in ALL if _plain(each.kind) == _plain(name)]
    group = group_of(api_version)
    if not alike or not (is_builtin(group) or any(group == each.gvr.group for each in alike)):
        return None
    exact = (each for each in alike if each.kind == name and api_version in _versions(each))
    found = next(exact, None)
    if found is None:
        raise _misspelt(name, api_version, alike)
    return found


def is_builtin(group: str) -> bool:
    """Return whether an API group is one of Kubernetes itself."""
    return "." not in group or group.endswith(".k8s.io")


def _plain(name: str) -> str:
    return name.lower().rstrip("s")


def _versions(kind: Kind) -> list[str]:
    return [gvr.api_version for gvr in kind.versions]


def _misspelt(name: str, api_version: str, alike: Iterable[Kind]) -> InvalidField:
    right = next(iter(alike)).kind
    if name != right:
        return InvalidField("kind", name, f"must be {right}")
    versions = " or ".join(version for each in alike for version in _versions(each))
    return InvalidField("apiVersion", api_version, f"must be {versions} for a {name}")


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if value is None or value == "":
        raise InvalidField(field, None, "is required")
    if not isinstance(value, str):
        raise InvalidField(field, value, "must be a string")
    return value
