"""What bindings say of the checkpoint that a gang goes on from."""

from dataclasses import replace

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.checkpoints import Checkpoints, Save
from gang_scheduler.state import checkpoints
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, pod

A = gang_key("a")
COUNT, PATH, STEP = annotations.RESUME_COUNT, annotations.RESUME_PATH, annotations.RESUME_STEP


def said(found: Checkpoints, *counts: int) -> dict[str, str]:
    """Return the annotations of a gang with members on nodes that were bound with these counts."""
    cache = Cache([SCHEDULER], Changes())
    spec = replace(gang_spec("a", 2), checkpoints=found)
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, spec.uid, [spec])
    for number, count in enumerate(counts):
        bound = {COUNT: str(count)} if count else {}
        cache.upsert_pod(pod(f"a-{number}", gang="a", node="n1", annotations=bound))
    cache.upsert_pod(pod("a-9", gang="a"))
    infos = cache.gang_queue.infos
    return dict(checkpoints.annotations_of(cache.checkpoints, infos.get(A)))


def test_a_gang_that_has_saved_nothing_begins_anew() -> None:
    assert {} == said(Checkpoints())
    assert {} == checkpoints.annotations_of(Cache([SCHEDULER], Changes()).checkpoints, None)


def test_a_gang_goes_on_from_its_newest_checkpoint() -> None:
    found = Checkpoints((Save(20, 7, "c7"), Save(10, 6, "c6")), resume_count=2)

    assert {COUNT: "3", PATH: "c7", STEP: "7"} == said(found)


def test_what_a_gang_does_not_tell_is_left_out() -> None:
    assert {COUNT: "1"} == said(Checkpoints((Save(20),)))
    assert {COUNT: "1", STEP: "0"} == said(Checkpoints((Save(20, 0),)))


def test_a_member_that_joins_has_the_count_of_those_that_are_there() -> None:
    found = Checkpoints((Save(20, 7),), resume_count=2)

    assert "2" == said(found, 2, 2)[COUNT]
    assert "3" == said(found, 0)[COUNT]


@pytest.mark.parametrize(
    ("saved_by", "members", "path"),
    [
        (["j1"], ["j1"], "c0"),
        (["j1"], ["j2"], None),
        (["j1"], [""], "c0"),
        ([""], ["j2"], "c0"),
        (["j2", "j1"], ["j1"], "c1"),
        (["j2", "j1"], ["j3"], None),
        (["j1"], ["j1", "j2"], "c0"),
        (["j1"], ["-j1", "j2"], None),
        (["j1"], ["j1", ""], "c0"),
        ([], ["j1"], None),
    ],
)
def test_a_gang_goes_on_from_what_its_own_workload_saved(
    saved_by: list[str], members: list[str], path: str | None
) -> None:
    saves = tuple(
        Save(20 - place, 7, f"c{place}", workload_uid=uid) for place, uid in enumerate(saved_by)
    )
    cache = Cache([SCHEDULER], Changes())
    spec = replace(gang_spec("a", 2), checkpoints=Checkpoints(saves))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, spec.uid, [spec])
    for place, uid in enumerate(members):
        made = pod(f"a-{place}", gang="a")
        # With a dash it is of a workload that is gone, and ends.
        leaving = uid.startswith("-")
        cache.upsert_pod(replace(made, workload_uid=uid.strip("-"), deleting=leaving))

    found = checkpoints.annotations_of(cache.checkpoints, cache.gang_queue.infos.get(A))

    assert path == found.get(PATH)
