"""The pods on nodes, and which of them may be evicted."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import NATIVE_POD_GROUPS, POD_DISRUPTION_BUDGETS
from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import ProtectedBy
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules, Rules
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.state import evictable_pods
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import NAMESPACE, SCHEDULER, gang_key, gang_spec, node, pod
from support.call_counts import calls_of

NOW = 1000
EVALUATED = "evictable_pods.EvictablePods._evaluate"
DISABLED = {"scheduling.koordinator.sh/disable-preemptible": "true"}
NOT_PREEMPTIBLE = {"quota.scheduling.koordinator.sh/preemptible": "false"}
HARMLESS = {
    "scheduling.koordinator.sh/disable-preemptible": "false",
    "quota.scheduling.koordinator.sh/preemptible": "true",
}


def budget(selector: tuple[Requirement, ...], allowed: int) -> DeclaredBudget:
    return DeclaredBudget("uid-b", NAMESPACE, "b", selector, allowed=allowed)


def new_cache(rules: PreemptionRules = NO_SETTINGS.preemption, *pods: Pod) -> Cache:
    cache = Cache([SCHEDULER], Changes(), Rules(preemption=rules))
    cache.upsert(cache.node_store, node("n1", cpu=100))
    for each in pods:
        cache.upsert_pod(each)
    return cache


def told(cache: Cache, spec: GangSpec) -> None:
    cache_feeding.upsert_gang_specs(cache, "group", spec.uid, [spec])


def bound_pods_of(cache: Cache, now: int = NOW) -> BoundPods:
    """Return the pods on nodes, for a gang that outranks all of them."""
    cache.upsert_pod(pod("above", priority=2_100_000_000 + now))
    found = cache.snapshot(now).bound_pods
    return BoundPods() if found is None else found


def evictable(cache: Cache, now: int = NOW) -> list[str]:
    return [each.pod.name for each in bound_pods_of(cache, now).pods if each.evictable]


def running(name: str, **others: Any) -> Pod:
    return pod(name, node="n1", phase="Running", **others)


def test_bound_pods_are_all_pods_with_a_node_in_natural_order() -> None:
    cache = new_cache(NO_SETTINGS.preemption, running("a-10"), running("a-9"), pod("waiting"))
    cache.upsert_pod(pod("done", node="n1", phase="Succeeded"))
    first = [each.pod.name for each in bound_pods_of(cache).pods]

    cache.upsert_pod(running("a-1"))
    cache.delete_pod("uid-a-10")

    second = [each.pod.name for each in bound_pods_of(cache, NOW + 1).pods]
    assert (["a-9", "a-10"], ["a-1", "a-9"]) == (first, second)


@pytest.mark.parametrize(
    ("kept", "is_safe"),
    [
        (running("p"), False),
        (running("p", labels=HARMLESS), False),
        (running("p", labels=DISABLED), True),
        (running("p", labels=NOT_PREEMPTIBLE), True),
        (replace(running("p"), pinned=True), True),
        (running("p", priority=1_999_999_999), False),
        (running("p", priority=2_000_000_000), True),
        (running("p", scheduler="default-scheduler"), True),
        (replace(running("p"), assumed=True), True),
    ],
)
def test_what_keeps_a_pod_from_being_evicted(kept: Pod, is_safe: bool) -> None:  # noqa: FBT001 - a row of a table.
    cache = new_cache(NO_SETTINGS.preemption, running("low"), kept)

    found = bound_pods_of(cache).pods

    assert [("low", True), ("p", not is_safe)] == [(t.pod.name, t.evictable) for t in found]


def test_pods_of_other_schedulers_go_where_a_setting_says_so_each_by_itself() -> None:
    other = running("x", gang="a", scheduler="default-scheduler")

    (found,) = bound_pods_of(new_cache(PreemptionRules(preempt_other_schedulers=True), other)).pods

    assert (True, GangKey("Pod", NAMESPACE, "x")) == (found.evictable, found.gang)


def test_labels_protect_only_where_an_administrator_lets_them() -> None:
    rules = PreemptionRules(protection_label_namespaces=("trusted",))
    here = running("here", labels=DISABLED)
    there = running("there", namespace="trusted", labels=DISABLED)

    assert ["here"] == evictable(new_cache(rules, here, there))


def test_pods_of_a_group_that_is_not_preemptable_stay() -> None:
    cache = new_cache(PreemptionRules(), running("a-0", gang="a"), running("b-0", gang="b"))
    told(cache, replace(gang_spec("a", 1), preemptable=False))

    assert ["b-0"] == evictable(cache)
    assert ProtectedBy.POD_GROUP is cache.evictable_pods.protected_by(running("a-0", gang="a").uid)

    told(cache, gang_spec("a", 1))
    assert ["a-0", "b-0"] == evictable(cache, NOW + 1)


def test_a_group_protects_its_pods_only_where_an_administrator_lets_it() -> None:
    rules = PreemptionRules(protection_label_namespaces=("trusted",))
    cache = new_cache(rules, running("a-0", gang="a"))
    told(cache, replace(gang_spec("a", 1), preemptable=False))

    assert ["a-0"] == evictable(cache)


def test_pods_of_jobs_that_evictions_end_are_marked_so_whatever_comes_first() -> None:
    cache = new_cache(PreemptionRules(), running("x-0", job="x"))
    cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))
    assert [True] == [each.unprotected for each in bound_pods_of(cache).pods]

    assert not cache.evictable_pods.upsert_job("uid-x", JobFailures(8, None))
    assert [False] == [each.unprotected for each in bound_pods_of(cache, NOW + 1).pods]
    assert ["x-0"] == evictable(cache, NOW + 2)


def test_a_setting_protects_the_pods_of_such_jobs() -> None:
    cache = new_cache(
        PreemptionRules(preempt_unprotected_jobs=False), running("x-0", job="x"), running("y")
    )
    cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))
    assert ["y"] == evictable(cache)

    assert cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 8))
    assert ["x-0", "y"] == evictable(cache, NOW + 1)


def test_a_job_without_pods_on_nodes_makes_no_room() -> None:
    cache = new_cache(PreemptionRules(preempt_unprotected_jobs=False), running("x-0", job="x"))
    cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))
    cache.delete_pod("uid-x-0")

    assert not cache.evictable_pods.upsert_job("uid-x", None)


@pytest.mark.parametrize(("now", "names"), [(NOW + 59, []), (NOW + 60, ["p"])])
def test_a_pod_is_safe_before_it_has_run_for_the_minimum(now: int, names: list[str]) -> None:
    cache = new_cache(PreemptionRules(min_runtime_before_preemption_seconds=60))
    cache.upsert_pod(replace(running("p", created_at=NOW - 500), started_at=NOW))

    assert names == evictable(cache, now)


def test_until_a_pod_has_started_its_time_counts_from_its_binding() -> None:
    cache = new_cache(PreemptionRules(min_runtime_before_preemption_seconds=60))
    cache.upsert_pod(replace(running("p", created_at=NOW - 500), scheduled_at=NOW))

    assert ([], ["p"]) == (evictable(cache, NOW + 59), evictable(cache, NOW + 60))


def test_that_a_pod_has_started_counts_although_it_makes_no_pod_differ() -> None:
    cache = new_cache(PreemptionRules(min_runtime_before_preemption_seconds=60), running("p"))
    bound_pods_of(cache)

    cache.upsert_pod(replace(running("p"), started_at=NOW))

    assert [] == evictable(cache, NOW + 1)


@pytest.mark.parametrize(("cap", "names"), [(100, []), (30, ["p"]), (0, ["p"])])
def test_the_minimum_that_a_gang_asks_for_counts_up_to_a_cap(cap: int, names: list[str]) -> None:
    cache = new_cache(PreemptionRules(max_min_runtime_seconds=cap))
    told(cache, gang_spec("a", 1, min_runtime_seconds=60))
    cache.upsert_pod(replace(running("p", gang="a"), started_at=NOW))

    assert names == evictable(cache, NOW + 50)


@pytest.mark.parametrize(
    "rules", [PreemptionRules(), PreemptionRules(min_runtime_before_preemption_seconds=60)]
)
def test_members_that_are_replaced_now_and_then_do_not_protect_their_gang_for_ever(
    rules: PreemptionRules,
) -> None:
    """It is as old as its run, also once none of its first members is left."""
    cache = new_cache(rules)
    told(cache, gang_spec("a", 2, min_runtime_seconds=60))

    def come(name: str, at: int) -> None:
        cache.upsert_pod(replace(running(name, gang="a"), started_at=at))

    come("p", NOW)
    come("q", NOW)
    assert [] == evictable(cache, NOW + 59)
    cache.delete_pod("uid-p")
    come("r", NOW + 50)
    assert ["q", "r"] == evictable(cache, NOW + 60)
    cache.delete_pod("uid-q")
    come("s", NOW + 100)
    assert ["r", "s"] == evictable(cache, NOW + 101)

    cache.delete_pod("uid-r")
    cache.delete_pod("uid-s")
    evictable(cache, NOW + 110)
    come("t", NOW + 120)
    assert [] == evictable(cache, NOW + 121)


def test_the_surplus_is_what_a_gang_can_lose_and_still_have_its_quorum() -> None:
    members = [running(f"a-{i}", gang="a") for i in range(4)]
    cache = new_cache(NO_SETTINGS.preemption, *members, running("a-9", gang="a", deleting=True))
    told(cache, gang_spec("a", 3))

    assert {gang_key("a"): 1} == bound_pods_of(cache).surplus


@pytest.mark.parametrize("spec", [gang_spec("a", 2), gang_spec("a", 9), gang_spec("b")])
def test_a_gang_has_no_surplus_at_its_quorum_under_it_or_when_no_object_describes_it(
    spec: GangSpec,
) -> None:
    cache = new_cache(NO_SETTINGS.preemption, running("a-0", gang="a"), running("a-1", gang="a"))
    told(cache, spec)

    assert {} == bound_pods_of(cache).surplus


def test_a_native_pod_group_that_is_disrupted_as_a_whole_has_no_surplus() -> None:
    spec = gang_spec("a", 1, gvr=NATIVE_POD_GROUPS[0])
    cache = new_cache(NO_SETTINGS.preemption, running("a-0", gang="a"), running("a-1", gang="a"))
    told(cache, replace(spec, disrupted_whole=True))

    assert {} == bound_pods_of(cache).surplus


def test_a_bound_pod_knows_the_budgets_that_cover_it() -> None:
    selector = (Requirement("app", Operator.IN, ("x",)),)
    cache = new_cache(NO_SETTINGS.preemption, running("p", labels={"app": "x"}), running("q"))
    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", selector, allowed=2)
    )
    first = bound_pods_of(cache)

    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=1)
    )
    second = bound_pods_of(cache, NOW + 1)
    cache_feeding.delete(cache, POD_DISRUPTION_BUDGETS, "uid-b")
    third = bound_pods_of(cache, NOW + 2)

    expected = [[("default/b",), ()], [("default/b",), ("default/b",)], [(), ()]]
    assert expected == [[t.budgets for t in each.pods] for each in (first, second, third)]
    assert [2, 1, None] == [each.allowed.get("default/b") for each in (first, second, third)]


@pytest.mark.parametrize(
    ("low", "rules"),
    [
        (running("p", priority=5), NO_SETTINGS.preemption),
        (running("p", labels=DISABLED), NO_SETTINGS.preemption),
        (running("p"), PreemptionRules(preemption=False)),
    ],
)
def test_no_gang_looks_at_the_bound_pods_where_none_may_go(
    low: Pod, rules: PreemptionRules
) -> None:
    cache = new_cache(rules, low, pod("high", priority=5))

    assert cache.snapshot(NOW).bound_pods is None


@pytest.mark.parametrize(
    "after",
    [
        DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=2),
        DeclaredBudget("uid-b", NAMESPACE, "b", None, allowed=1),
        None,
    ],
)
def test_a_gang_short_of_room_is_tried_again_when_a_budget_allows_more(
    after: DeclaredBudget | None,
) -> None:
    changes = Changes()
    cache = Cache([SCHEDULER], changes)
    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=1)
    )
    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=0)
    )
    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=1)
    )
    changes.cycle.clear()

    if after is None:
        cache_feeding.delete(cache, POD_DISRUPTION_BUDGETS, "uid-b")
    else:
        cache_feeding.upsert(cache, POD_DISRUPTION_BUDGETS, after)

    assert changes.cycle.is_set()


def test_a_pod_that_is_gone_stays_gone_however_often_it_is_deleted() -> None:
    cache = new_cache(NO_SETTINGS.preemption, pod("x", node="n1"))
    before = evictable(cache)

    cache.delete_pod("uid-x")
    cache.delete_pod("uid-x")

    assert (["x"], []) == (before, evictable(cache))


def test_a_pod_that_came_and_went_between_two_looks_is_not_remembered() -> None:
    cache = new_cache()
    for number in range(3):
        cache.upsert_pod(pod(f"x-{number}", node="n1"))
        cache.delete_pod(f"uid-x-{number}")

    assert not cache.evictable_pods._changed


@pytest.mark.parametrize("priority", [0, 5, 99])
def test_pods_that_leave_are_listed_whatever_their_priority(priority: int) -> None:
    old = running("old", priority=priority, deleting=True)
    cache = new_cache(
        NO_SETTINGS.preemption, old, running("above", priority=99), pod("new", priority=5)
    )

    found = cache.snapshot(NOW).bound_pods

    assert found is not None
    assert (["old"], ()) == ([each.pod.name for each in found.leaving], found.pods)


@pytest.mark.parametrize(
    ("rules", "waits"), [(PreemptionRules(preemption=False), True), (NO_SETTINGS.preemption, False)]
)
def test_they_are_not_where_nothing_waits_or_preemption_is_off(
    rules: PreemptionRules,
    waits: bool,  # noqa: FBT001 - a row of a table.
) -> None:
    cache = new_cache(rules, running("old", deleting=True))
    if waits:
        cache.upsert_pod(pod("new", priority=5))

    assert cache.snapshot(NOW).bound_pods is None


def crowded() -> Cache:
    """Return a cache with five pods on a node, and one that may evict them."""
    return new_cache(NO_SETTINGS.preemption, *map(running, "edcba"), pod("above", priority=1))


def test_very_many_pods_are_evaluated_ahead_of_the_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache, other = crowded(), crowded()
    monkeypatch.setattr(evictable_pods, "MANY", 2)

    ahead = calls_of(lambda: list(cache.prepare(NOW)))
    found: list[BoundPods | None] = [other.snapshot(NOW).bound_pods]
    left = calls_of(lambda: found.append(cache.snapshot(NOW).bound_pods))

    assert (5, 0) == (ahead[EVALUATED], left[EVALUATED])
    names = [[each.pod.name for each in some.pods] for some in found if some]
    assert [list("abcde")] * 2 == names


def test_nothing_is_evaluated_ahead_if_nobody_may_evict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evictable_pods, "MANY", 2)
    cache = new_cache(NO_SETTINGS.preemption, *map(running, "edcba"), pod("equal"))

    assert calls_of(lambda: list(cache.prepare(NOW)))[EVALUATED] == 0


@pytest.mark.parametrize("after", range(3))
def test_pods_may_come_and_go_between_two_parts(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evictable_pods, "MANY", 2)
    cache = crowded()

    for number, _ in enumerate(cache.prepare(NOW)):
        if number == after:
            cache.delete_pod("uid-a")
            cache.delete_pod("uid-e")
            cache.upsert_pod(running("aa"))

    found = cache.snapshot(NOW).bound_pods
    assert found is not None
    assert ["aa", "b", "c", "d"] == [each.pod.name for each in found.pods]
