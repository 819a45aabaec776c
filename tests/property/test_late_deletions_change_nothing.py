"""Law: a deletion changes nothing that is seen after the object that took the place of the gone.

Kopf hands on the events of each object in order, but those of two objects in any order, and two
objects may have one name.
"""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from cases import test_cases
from conformance import queue_manifests
from gang_scheduler import from_settings
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects, UnreadableInput, filled
from gang_scheduler.state import kinds
from search import generator
from support import thoroughness, yaml_texts

SETTINGS = Policy()
OURS = "py-gang-scheduler"
WORLDS = thoroughness.cases(20, thorough=400)
CASES = Path(test_cases.__file__).parent


def worlds() -> Iterator[Any]:
    """Yield manifests: random ones, and some of those of queues and of all other cases."""
    for seed in range(WORLDS):
        yield pytest.param(generator.world(seed).documents, id=f"world-{seed}")
    yield from thoroughness.some([*written()])


def written() -> Iterator[Any]:
    """Yield the manifests of queues, and those of all other cases."""
    for case in queue_manifests.DATA["cases"]:
        yield pytest.param([*queue_manifests.manifests(case)], id=case["id"])
    for file in sorted(CASES.glob("*.yaml")):
        for case in yaml_texts.read(file.read_text()):
            manifests = [*test_cases.expanded(case["manifests"])]
            yield pytest.param(manifests, id=f"{file.stem}-{case['id']}")


@pytest.mark.parametrize("manifests", [*worlds()])
def test_no_late_deletion_takes_away_what_has_come(manifests: list[Any]) -> None:
    try:
        found = objects.load(documents.parse("f", yaml_texts.written_all(manifests)), OURS)
    except UnreadableInput:
        return

    for gvr in {each.gvr for each in found.loaded}:
        assert plan_after(found, gvr, late=False) == plan_after(found, gvr, late=True), gvr.name


def plan_after(found: Objects, gvr: GVR, *, late: bool) -> Plan:
    """Return the plan when each object of a kind has made way for another one of its name."""
    cache = filled(found, SETTINGS)
    handler = EventHandlers(kinds.sinks(cache), LeftOutObjects()).of(gvr)
    for each in found.loaded:
        if each.gvr == gvr and each.body is not None:
            gone, came = deepcopy(each.body), deepcopy(each.body)
            came["metadata"]["uid"] += "-again"
            events = [{"type": "DELETED", "object": gone}, {"type": "ADDED", "object": came}]
            for event in reversed(events) if late else events:
                handler.handle(event)
    return schedule(cache.snapshot(found.read_at), from_settings.profile(SETTINGS))
