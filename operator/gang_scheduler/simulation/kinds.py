"""Which kinds and versions are known, and which spelling of one is a mistake."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from gang_scheduler.api.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    GVR,
    KUEUE_TOPOLOGIES,
    QUEUES,
    VOLCANO_POD_GROUPS,
    VOLCANO_QUEUES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.names import group_of
from gang_scheduler.decode.reader import Reader
from gang_scheduler.decode.workloads.members.table import ROWS, Row
from gang_scheduler.model.queues import Product
from gang_scheduler.state.kinds import KINDS, QUEUES_NAMED

Kind = Reader[Any]


def _only_expanded(row: Row) -> Kind:
    """Return the kind of a workload that is not watched: only what is made of it is read."""
    return Reader(kind=row.kind, versions=row.versions, read=lambda body: body)


BESIDE_QUEUES: Final = frozenset({*KUEUE_TOPOLOGIES, VOLCANO_POD_GROUPS})
"""Kinds of products with queues that files have without these: then queues may be left out."""
_DECLARING: Final = frozenset({QUEUES, *CLUSTER_QUEUES, *COHORTS, VOLCANO_QUEUES})
"""Kinds that declare queues."""
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
    alike = _BY_NAME.get(_plain(name), ())
    group = group_of(api_version)
    if not alike or not (is_builtin(group) or any(group == each.gvr.group for each in alike)):
        return None
    exact = (each for each in alike if each.kind == name and api_version in _versions(each))
    found = next(exact, None)
    if found is None:
        raise _misspelt(name, api_version, alike)
    return found


def served(gvrs: Iterable[GVR]) -> frozenset[Product]:
    """Return the products that may have queues on a cluster with objects of these kinds."""
    groups = {each.group for each in gvrs if each not in BESIDE_QUEUES}
    others = (product for product, named in QUEUES_NAMED.items() if named.group in groups)
    return frozenset({Product.OURS, *others})


def named(bodies: Iterable[Mapping[str, Any]]) -> frozenset[Product]:
    """Return the products whose names of queues mean something beside these objects.

    Without any queue, a name of a product without an object here may be a label that is not read.
    """
    gvrs = {each.gvr for each in map(_known, bodies) if each is not None}
    return frozenset(Product) if gvrs & _DECLARING else served(gvrs)


def _known(body: Mapping[str, Any]) -> Kind | None:
    try:
        return kind_of(body)
    except InvalidField:
        return None  # What is wrong is told where the object is read.


def is_builtin(group: str) -> bool:
    """Return whether an API group is one of Kubernetes itself."""
    return "." not in group or group.endswith(".k8s.io")


def _plain(name: str) -> str:
    return name.lower().rstrip("s")


_BY_NAME: Final[defaultdict[str, list[Kind]]] = defaultdict(list)
"""The kinds by their plain names: each object of a file is looked up."""
for _each in ALL:
    _BY_NAME[_plain(_each.kind)].append(_each)


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
