"""Makes a world that breaks a law smaller, for as long as it breaks the same law."""

from collections.abc import Iterator, Sequence

from search.cases import Case
from search.laws import table
from search.manifests import OTHER_LABEL, POD_GROUP_LABEL, Manifest
from search.worlds import World

MOST_TRIES = 300


def shrunk(world: World, law: str) -> World:
    """Return the world without what the law does not need to be broken: gangs, pods, nodes."""
    tries = 0
    found = True
    while found and tries < MOST_TRIES:
        found = False
        for some in _parts(world.documents):
            smaller = world.without(some)
            tries += 1
            if len(smaller.documents) < len(world.documents) and _breaks(smaller, law):
                world, found = smaller, True
                break
            if tries == MOST_TRIES:
                break
    return world


def _breaks(world: World, law: str) -> bool:
    return law in table.broken(Case(world), [law])


def _parts(documents: Sequence[Manifest]) -> Iterator[list[Manifest]]:
    """Yield what can be left out: whole gangs first, then one object at a time."""
    gangs: dict[str, list[Manifest]] = {}
    for body in documents:
        gangs.setdefault(_gang(body), []).append(body)
    gangs.pop("", None)
    yield from (bodies for bodies in gangs.values() if len(bodies) > 1)
    yield from ([body] for body in reversed(documents))


def _gang(body: Manifest) -> str:
    if body["kind"] == "PodGroup":
        return str(body["metadata"]["name"])
    labels = body["metadata"].get("labels") or {}
    native = (body.get("spec") or {}).get("schedulingGroup") or {}
    named = labels.get(POD_GROUP_LABEL) or labels.get(OTHER_LABEL) or native.get("podGroupName")
    return str(named or "") if body["kind"] == "Pod" else ""
