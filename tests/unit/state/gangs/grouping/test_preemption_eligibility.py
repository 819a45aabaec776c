"""Whether a gang may make room for itself, and what is remembered of its preemptions."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules, Rules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.gang_info import Preempting
from gang_scheduler.state.terminating import REPORTING_SECONDS
from support import cache_feeding
from support.builders import SCHEDULER, gang_key, gang_spec, node, pod
from support.gang_queue_builders import NOW

KEY = gang_key("a")
UNDER_WAY = PreemptionBlock(BlockCause.UNDER_WAY)
NOMINATED = replace(pod("a-0", gang="a", priority=5), nominated="n1")
VICTIM = pod("victim", node="n1", phase="Running")
MARKED = replace(VICTIM, marked_as_victim=True)
LEAVING = replace(MARKED, deleting=True, gone_by=NOW + 30)


def new_cache(*pods: Pod, rules: PreemptionRules = NO_SETTINGS.preemption) -> Cache:
    cache = Cache([SCHEDULER], Changes(), Rules(preemption=rules))
    cache.upsert(cache.node_store, node("n1"))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-a", [gang_spec("a", 1)])
    for each in pods:
        cache.upsert_pod(each)
    return cache


def gang_a(cache: Cache, now: int = NOW) -> Gang:
    """Return the gang as it is tried now, also when nothing has changed."""
    cache.gang_queue.nominations_lost([KEY])
    groups = cache.snapshot(now).groups
    (found,) = [each for group in groups for each in group.gangs if each.key == KEY]
    return found


def why_not(cache: Cache, now: int = NOW) -> PreemptionBlock | None:
    return gang_a(cache, now).preemption_block


def test_a_gang_may_evict_unless_something_speaks_against_it() -> None:
    assert why_not(new_cache(NOMINATED, VICTIM)) is None


def test_a_setting_switches_preemption_off() -> None:
    cache = new_cache(NOMINATED, rules=PreemptionRules(preemption=False))

    assert PreemptionBlock(BlockCause.SWITCHED_OFF) == why_not(cache)


def test_one_member_that_may_not_evict_keeps_the_whole_gang_from_it() -> None:
    cache = new_cache(*(replace(pod(f"a-{i}", gang="a"), preempts=i == 0) for i in (10, 9, 0)))

    assert PreemptionBlock(BlockCause.POLICY_NEVER, pod="default/a-9") == why_not(cache)


@pytest.mark.parametrize(
    ("other", "is_under_way"),
    [
        (LEAVING, True),
        (replace(LEAVING, marked_as_victim=False), True),
        (replace(LEAVING, node="n2"), False),
        (replace(LEAVING, priority=5), False),
        (replace(LEAVING, gone_by=0), True),
        (MARKED, False),
        (VICTIM, False),
    ],
)
def test_it_waits_for_pods_that_leave_its_nominated_node(
    other: Pod,
    is_under_way: bool,  # noqa: FBT001 - a row of a table.
) -> None:
    assert (UNDER_WAY if is_under_way else None) == why_not(new_cache(NOMINATED, other))


def test_it_waits_for_the_victims_of_others_on_its_nominated_node() -> None:
    cache = new_cache(NOMINATED, VICTIM)
    cache.victims.decided(["uid-victim"])
    decided = why_not(cache)

    cache.victims.spared(["uid-victim"])

    assert (UNDER_WAY, None) == (decided, why_not(cache))


def test_it_does_not_where_another_life_has_marked_more_than_it_evicted() -> None:
    cache = new_cache(NOMINATED, LEAVING, replace(MARKED, uid="uid-x", name="x"))

    assert why_not(cache) is None


def test_a_gang_without_a_nominated_node_waits_for_its_own_victims_only() -> None:
    cache = new_cache(pod("a-0", gang="a", priority=5), LEAVING)
    before = why_not(cache)

    cache.decisions.preempting([KEY], NOW, ["uid-victim"])

    assert (None, UNDER_WAY) == (before, why_not(cache))


@pytest.mark.parametrize("seen", [VICTIM, MARKED, LEAVING])
def test_victims_are_waited_for_however_long_it_takes_to_evict_them(seen: Pod) -> None:
    cache = new_cache(NOMINATED, VICTIM)
    cache.victims.decided(["uid-victim"])
    cache.decisions.preempting([KEY], NOW, victims=["uid-victim"])
    cache.upsert_pod(seen)

    assert [UNDER_WAY] * 2 == [why_not(cache, NOW), why_not(cache, NOW + 300)]


def test_a_victim_that_hangs_in_termination_is_waited_for_no_longer() -> None:
    cache = new_cache(NOMINATED, LEAVING)
    cache.decisions.preempting([KEY], NOW, victims=["uid-victim"])
    last = LEAVING.gone_by + NO_SETTINGS.preemption.victim_timeout_seconds + REPORTING_SECONDS

    assert (UNDER_WAY, None) == (why_not(cache, last), why_not(cache, last + 1))


@pytest.mark.parametrize("gone", ["victim", "eviction", "nomination"])
def test_nothing_is_under_way_once_victims_are_gone_or_it_was_given_up(gone: str) -> None:
    cache = new_cache(NOMINATED, MARKED)
    cache.victims.decided(["uid-victim"])
    cache.decisions.preempting([KEY], NOW, victims=["uid-victim"])

    if gone == "victim":
        cache.delete_pod("uid-victim")
    elif gone == "eviction":
        cache.victims.spared(["uid-victim"])
        cache.decisions.preemption_over([KEY])
    else:
        cache.clear_nominations(["uid-a-0"])

    assert why_not(cache) is None


def test_three_rounds_in_ten_minutes_are_enough() -> None:
    cache = new_cache(pod("a-0", gang="a"))
    found = []

    for now in (NOW, NOW + 1, NOW + 2, NOW + 599, NOW + 600):
        found.append(why_not(cache, now))
        if now < NOW + 3:
            cache.decisions.preempting([KEY], now)

    enough = PreemptionBlock(BlockCause.TOO_MANY_ROUNDS, rounds=3)
    assert [None, None, None, enough, None] == found


def test_what_is_carried_out_is_remembered_until_the_gang_finds_its_place() -> None:
    cache = new_cache(NOMINATED, VICTIM)
    gang_a(cache)
    cache.decisions.preempting([KEY], NOW, ["uid-victim"], "SpineLayer/s1")
    info = cache.gang_queue.infos[KEY]
    first = info.preemptor.under_way

    cache.decisions.placed(KEY)

    assert Preempting(NOW, ("uid-victim",), "SpineLayer/s1") == first
    assert info.preemptor.under_way is None


@pytest.mark.parametrize(
    ("reason", "is_kept"), [(Reason.WAITING_FOR_VICTIMS, True), (Reason.UNSCHEDULABLE, False)]
)
def test_it_is_remembered_while_the_gang_waits_for_victims(reason: Reason, is_kept: bool) -> None:  # noqa: FBT001 - a row of a table.
    cache = new_cache(NOMINATED)
    gang = gang_a(cache)
    cache.decisions.preempting([KEY], NOW)

    cache.decisions.refused(Refused(gang, reason, gang.pending), NOW)

    assert is_kept == (cache.gang_queue.infos[KEY].preemptor.under_way is not None)


def members(*names: str, **state: Any) -> list[Pod]:
    return [pod(name, gang="a", **state) for name in names]


def preempted_by(cache: Cache) -> str:
    cache.gang_queue.nominations_lost([KEY])
    cache.snapshot(NOW)
    return cache.gang_queue.infos[KEY].preempted.by


def test_a_gang_remembers_which_gang_took_its_members_until_it_is_whole_again() -> None:
    cache = new_cache(*members("a-0", "a-1", node="n1"))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, "uid-a", [gang_spec("a", 2)])
    cache.snapshot(NOW)
    cache.decisions.preempted(KEY, "default/b")
    found = [preempted_by(cache)]

    for name in ("a-0", "a-1"):
        cache.delete_pod(f"uid-{name}")
        found.append(preempted_by(cache))
    for each in members("a-2", "a-3"):
        cache.upsert_pod(each)
    found.append(preempted_by(cache))
    cache.gang_queue.changed.clear()
    for each in members("a-2", "a-3", node="n1"):
        cache.upsert_pod(each)
    found.append(preempted_by(cache))

    assert ["default/b"] * 4 + [""] == found
    assert KEY in cache.gang_queue.changed


def test_no_preemptor_is_noted_for_a_gang_that_is_gone() -> None:
    cache = new_cache()

    cache.decisions.preempted(gang_key("gone"), "default/b")
    cache.decisions.preemption_over([gang_key("gone")])

    assert [KEY] == list(cache.gang_queue.infos)
