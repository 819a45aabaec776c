"""Objects of every kind that is read: all manifests in the repository, and one of every field.

Manifests come from the examples, the cases and the tests beside real controllers. Where no manifest
has a field, one that is made of the wire structs does.
"""

import functools
import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from gang_scheduler import wire
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.reader import Reader
from gang_scheduler.state import kinds
from gang_scheduler.wire.base import Wire
from property import corpus

Manifest = dict[str, Any]

ROOT = Path(__file__).parents[2]
TEXTS = ("5", "1Gi", "50%", "In", "x", "2024-01-01T00:00:00Z", "Running", "pods", "", "default/g")
"""What the strings of made objects say, in turn."""
DEEP = 4
"""Below so many levels a list has one entry, and two above."""


@functools.cache
def structs() -> tuple[type[Wire], ...]:
    """Return every wire struct, in the order of their names."""
    for module in pkgutil.walk_packages(wire.__path__, f"{wire.__name__}."):
        importlib.import_module(module.name)
    return tuple(sorted(_below(Wire), key=lambda each: (each.__module__, each.__qualname__)))


def _below(struct: type[Wire]) -> Iterator[type[Wire]]:
    for each in struct.__subclasses__():
        if each.__module__.startswith(f"{wire.__name__}."):
            yield each
        yield from _below(each)


def filled(struct: type[msgspec.Struct]) -> Manifest:
    """Return an object with every field that the struct reads."""
    found = _Maker().made(inspect.type_info(struct))
    assert isinstance(found, dict)
    return found


class _Maker:
    """Makes a value of any type that a field can have."""

    def __init__(self) -> None:
        self._texts = 0

    def made(self, kind: inspect.Type, deep: int = 0) -> Any:
        """Return a value of a type; of a union the richest."""
        made: Any
        match kind:
            case inspect.StructType():
                made = {each.encode_name: self.made(each.type, deep + 1) for each in kind.fields}
            case inspect.ListType() | inspect.VarTupleType():
                made = [self.made(kind.item_type, deep + 1) for _ in range(1 + (deep < DEEP))]
            case inspect.DictType():
                made = {
                    self._text(): self.made(kind.value_type, deep + 1)
                    for _ in range(1 + (deep < DEEP))
                }
            case inspect.UnionType():
                made = self.made(max(kind.types, key=_richness), deep)
            case inspect.EnumType():
                made = next(iter(kind.cls)).value
            case inspect.IntType() | inspect.FloatType():
                made = 3
            case inspect.BoolType():
                made = True
            case inspect.AnyType():
                made = {"x": "y"}
            case _:
                made = self._text()
        return made

    def _text(self) -> str:
        self._texts += 1
        return TEXTS[self._texts % len(TEXTS)]


def _richness(kind: inspect.Type) -> int:
    order = (inspect.NoneType, inspect.BoolType, inspect.IntType, inspect.StrType)
    return next((i for i, each in enumerate(order) if isinstance(kind, each)), len(order))


@functools.cache
def by_kind() -> dict[str, tuple[Manifest, ...]]:
    """Return the objects of each kind that is read, by the name of the kind; never none."""
    named = {
        _said(gvr, each.reader): each.reader for each in kinds.KINDS for gvr in each.reader.versions
    }
    found: dict[str, dict[str, Manifest]] = defaultdict(dict)
    for each in (*_manifests(), *corpus.ALL, *_of_structs(named)):
        reader = named.get((each["apiVersion"], each["kind"]))
        if reader is not None:
            namespace = "default" if reader.namespaced else ""
            found[reader.name][repr(each)] = identified(each, namespace, "u")
    return {name: tuple(each.values()) for name, each in found.items()}


def identified(made: Any, namespace: str, uid: str) -> Any:
    """Return an object as an API server stores it: whatever it says, it has an identity."""
    if not isinstance(made, dict):
        return made
    metadata = made.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    name = given.get("name")
    kept = {"name": name if isinstance(name, str) and name else uid, "uid": uid}
    if namespace:
        kept["namespace"] = namespace
    return {**made, "metadata": {**given, **kept}}


def _said(gvr: GVR, reader: Reader[Any]) -> tuple[str, str]:
    return gvr.api_version, reader.kind


def _of_structs(named: dict[tuple[str, str], Reader[Any]]) -> Iterator[Manifest]:
    """Yield an object of each struct that has the name of a kind."""
    for api_version, kind in named:
        for struct in structs():
            if struct.__name__ == kind:
                yield {**filled(struct), "apiVersion": api_version, "kind": kind}


@functools.cache
def _manifests() -> tuple[Manifest, ...]:
    files = sorted(path for part in ("examples", "tests") for path in (ROOT / part).rglob("*.yaml"))
    return tuple(each for path in files for each in _inside(_documents(path)))


def _documents(path: Path) -> list[Any]:
    return list(yaml.load_all(path.read_text(), yaml.CSafeLoader))


def _inside(tree: Any) -> Iterator[Manifest]:
    """Yield the manifests in a document, those in other manifests and in cases included."""
    if isinstance(tree, dict):
        if isinstance(tree.get("kind"), str) and isinstance(tree.get("apiVersion"), str):
            yield tree
        for each in tree.values():
            yield from _inside(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from _inside(each)
