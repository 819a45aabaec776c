"""A snapshot of any manifest has all that is read of it: what is found in both is the same.

And so is what is decided, with pseudonyms in place of names.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import queue_manifests
from conformance.queue_manifests import Case
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.decode.queues.declared import DeclaredFlavor, DeclaredQueue
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.inspection import files
from gang_scheduler.inspection.snapshots import pseudonyms, taking
from gang_scheduler.model.pods import Pod
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from support import yaml_texts

NOW = int(queue_manifests.NOW.timestamp())
ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
MANIFESTS = sorted((ROOT / "tests" / "conformance" / "manifests").rglob("*.yaml"))


@pytest.mark.parametrize(
    "path", [pytest.param(each, id=each.name) for each in EXAMPLES + MANIFESTS]
)
def test_what_is_found_in_a_snapshot_is_what_was_there(path: Path) -> None:
    try:
        cluster, expected = files.loaded(list(documents.read([str(path)])), Policy())
    except UnreadableInput:
        pytest.skip("no cluster takes it")

    content = b"".join(taking.of_files([str(path)], Policy()).content())
    read_back, found = files.loaded(list(documents.of_content("s.jsonl", content)), Policy())

    assert [bare(each.decoded) for each in expected.loaded] == [
        bare(each.decoded) for each in found.loaded
    ]
    assert by_age(expected) == by_age(found)
    assert (cluster.policy, cluster.read_at) == (read_back.policy, read_back.read_at)
    assert content == b"".join(taking.of_files([str(path)], Policy()).content())


@pytest.mark.parametrize("case", queue_manifests.DATA["cases"], ids=lambda case: case["id"])
def test_with_pseudonyms_queues_are_decided_the_same(case: Case) -> None:
    items = [*documents.parse("f", yaml_texts.written_all([*queue_manifests.manifests(case)]))]
    try:
        snapshot = taking.of_items(items, Policy(), NOW)
    except UnreadableInput:
        return
    found = pseudonyms.of(snapshot)

    content = b"".join(pseudonyms.anonymized(snapshot, found).content())

    assert [] == [*taking.differences("f", content, snapshot.cluster, found.text)]


def bare(decoded: Any) -> object:
    """Return an object without its age, and without what the scheduler only writes."""
    if isinstance(decoded, DeclaredTopology):
        return replace(decoded, status={})
    if isinstance(decoded, DeclaredQueue):
        # Two queues are never equal, whatever they say.
        return repr(replace(decoded, status={}, queue=replace(decoded.queue, created_at=0)))
    if isinstance(decoded, DeclaredFlavor):
        return repr(decoded)
    if isinstance(decoded, GangObject):
        return replace(
            decoded, gang_specs=tuple(replace(each, created_at=0) for each in decoded.gang_specs)
        )
    return replace(decoded, created_at=0) if isinstance(decoded, Pod) else decoded


def by_age(found: Objects) -> list[int]:
    """Return the places of objects, from the oldest to the youngest."""
    decoded_objects = [each.decoded for each in found.loaded]
    return sorted(range(len(decoded_objects)), key=lambda i: created_at(decoded_objects[i]))


def created_at(decoded: Any) -> float:
    """Return when an object was created; 0 for one whose age says nothing."""
    if isinstance(decoded, DeclaredQueue):
        return decoded.queue.created_at
    if isinstance(decoded, GangObject):
        return max((each.created_at for each in decoded.gang_specs), default=0)
    return decoded.created_at if isinstance(decoded, Pod) else 0
