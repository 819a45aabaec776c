"""Law: with pseudonyms in place of all names a cluster is decided the same, but for names."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from gang_scheduler.inspection.snapshots import pseudonyms, taking
from gang_scheduler.inspection.snapshots.taking import Snapshot
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents
from search import generator
from support.thoroughness import cases


def snapshot_of(seed: int) -> Snapshot:
    """Return the snapshot of a random world."""
    world = generator.world(seed)
    content = "".join(f"{json.dumps(each)}\n" for each in world.documents).encode()
    return taking.of_items([*documents.of_content("w.jsonl", content)], Policy())


@given(st.integers(0, 10**6))
@settings(max_examples=cases(60, thorough=2000))
def test_pseudonyms_change_nothing_but_names(seed: int) -> None:
    snapshot = snapshot_of(seed)
    found = pseudonyms.of(snapshot)

    content = b"".join(pseudonyms.anonymized(snapshot, found).content())

    assert [] == [*taking.differences("f", content, snapshot.cluster, found.text)]


@given(st.integers(0, 10**6))
def test_a_snapshot_changes_nothing(seed: int) -> None:
    snapshot = snapshot_of(seed)

    content = b"".join(snapshot.content())

    assert [] == [*taking.differences("f", content, snapshot.cluster)]
