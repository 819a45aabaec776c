"""What the input has of workloads already: their controllers would not create it again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gang_scheduler.decode.names import group_of

Body = Mapping[str, Any]


class Named(NamedTuple):
    """An object of the input, by name."""

    kind: str
    group: str
    namespace: str
    name: str


class Present:
    """The objects of the input by name and by their controllers.

    Nothing is refused here: what cannot be read is found out when it is.
    """

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self._objects: dict[Named, Body] = {}
        self._controlled: defaultdict[Named, dict[Named, Body]] = defaultdict(dict)
        self._loose_pods: defaultdict[tuple[str, str, str], dict[str, Body]] = defaultdict(dict)
        for each in bodies:
            self._note(each)

    def has(self, body: Body) -> bool:
        """Return whether the input has an object of this kind and name."""
        return _named(body) in self._objects

    def find(self, kind: str, group: str, namespace: str, name: str) -> Body | None:
        """Return an object of the input; those without a namespace are in `default`."""
        return self._objects.get(Named(kind, group, namespace, name))

    def controlled_by(self, owner: Body, uid: str = "") -> list[Body]:
        """Return what names this object as its controller, by `uid`, too, if there is one."""
        named = _named(owner)
        found = self._controlled.get(named, {}).values() if named else ()
        return [each for each in found if not uid or controller(each).get("uid", uid) == uid]

    def owners(self, kind: str, group: str, namespace: str) -> dict[str, list[Body]]:
        """Return the controllers of a kind by name, whether they are in the input or not."""
        return {
            owner.name: [*found.values()]
            for owner, found in self._controlled.items()
            if (owner.kind, owner.group, owner.namespace) == (kind, group, namespace)
        }

    def loose_pods(self, namespace: str, key: str, value: str) -> Iterable[Body]:
        """Return the pods with this label that have no controller, as in manifests."""
        return self._loose_pods.get((namespace, key, value), {}).values()

    def _note(self, body: Body) -> None:
        named = _named(body)
        if named is None:
            return
        self._objects[named] = body
        owner = controller(body)
        if owner:
            self._controlled[_owner(owner, named.namespace)][named] = body
        elif named.kind == "Pod":
            for key, value in _labels(body):
                self._loose_pods[(named.namespace, key, value)][named.name] = body


def controller(body: Body) -> Body:
    """Return the reference to the controller of an object, an empty one if it has none."""
    owners = part(body, "metadata").get("ownerReferences")
    found = (
        each
        for each in (owners if isinstance(owners, list) else ())
        if isinstance(each, Mapping) and each.get("controller")
    )
    return next(found, {})


def part(body: Body, *path: str) -> Body:
    """Return an object inside of an object, an empty one for anything else."""
    value: object = body
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _named(body: Body) -> Named | None:
    metadata = part(body, "metadata")
    namespace = metadata.get("namespace") or "default"
    given = (body.get("kind"), body.get("apiVersion"), namespace, metadata.get("name"))
    if not all(isinstance(each, str) for each in given):
        return None
    kind, api_version, namespace, name = map(str, given)
    return Named(kind, group_of(api_version), namespace, name)


def _owner(reference: Body, namespace: str) -> Named:
    group = group_of(str(reference.get("apiVersion", "")))
    return Named(str(reference.get("kind")), group, namespace, str(reference.get("name")))


def _labels(body: Body) -> Iterator[tuple[str, str]]:
    for key, value in part(body, "metadata", "labels").items():
        if isinstance(key, str) and isinstance(value, str):
            yield key, value
