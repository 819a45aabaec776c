"""Which pods leave their nodes whatever else is decided, and what that means for others."""

from dataclasses import replace

import pytest

from gang_scheduler.api.kinds import POD_DISRUPTION_BUDGETS, POD_GROUPS
from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules, Rules
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.terminating import PATIENCE_SECONDS, REPORTING_SECONDS, Leaving
from support import cache_feeding
from support.builders import NAMESPACE, SCHEDULER, gang_key, gang_spec, node, pod
from support.gang_queue_builders import NOW

RUNNING = [pod(f"a-{i}", gang="a", node="n1", phase="Running") for i in range(3)]
X = pod("x", node="n1", phase="Running")
ENDING = replace(X, deleting=True, gone_by=NOW + 30)
HANGS_AFTER = NO_SETTINGS.preemption.victim_timeout_seconds + REPORTING_SECONDS


@pytest.fixture
def cache() -> Cache:
    made = Cache([SCHEDULER], Changes())
    made.upsert(made.node_store, node("n1", cpu=100))
    cache_feeding.upsert_gang_specs(made, POD_GROUPS.group, "uid-a", [gang_spec("a", 1)])
    for each in (*RUNNING, X):
        made.upsert_pod(each)
    return made


def bound_pods(cache: Cache, now: int = NOW) -> BoundPods:
    """Return the pods on nodes, for a gang that outranks all of them."""
    cache.upsert_pod(pod("above", priority=99 + now))
    found = cache.snapshot(now).bound_pods
    assert found is not None
    return found


def leaving(cache: Cache, now: int = NOW) -> list[str]:
    return [each.pod.name for each in bound_pods(cache, now).leaving]


def staying(cache: Cache, now: int = NOW) -> list[str]:
    return [each.pod.name for each in bound_pods(cache, now).pods]


def test_a_victim_leaves_from_the_decision_on_and_is_decided_on_no_more(cache: Cache) -> None:
    before = leaving(cache), staying(cache, NOW + 1)

    cache.victims.decided(["uid-x"])

    assert ([], ["a-0", "a-1", "a-2", "x"]) == before
    assert (["x"], ["a-0", "a-1", "a-2"]) == (leaving(cache, NOW + 2), staying(cache, NOW + 3))


@pytest.mark.parametrize("shown", [X, replace(X, marked_as_victim=True), ENDING])
def test_it_does_so_whatever_the_api_server_shows_of_it_yet(cache: Cache, shown: Pod) -> None:
    cache.victims.decided(["uid-x"])

    cache.upsert_pod(shown)

    assert ["x"] == leaving(cache)


def test_a_victim_that_is_spared_is_a_pod_like_others_again(cache: Cache) -> None:
    cache.victims.decided(["uid-x", "uid-a-1"])
    first = leaving(cache)

    cache.victims.spared(["uid-x", "uid-a-1", "uid-unknown"])

    assert (["a-1", "x"], []) == (first, leaving(cache, NOW + 1))
    assert ["a-0", "a-1", "a-2", "x"] == staying(cache, NOW + 2)


def test_a_victim_that_terminates_already_cannot_be_spared(cache: Cache) -> None:
    cache.victims.decided(["uid-x"])
    cache.upsert_pod(ENDING)

    cache.victims.spared(["uid-x"])

    assert ["x"] == leaving(cache)


def test_a_pod_that_is_gone_leaves_no_more_and_another_of_its_name_does_not(cache: Cache) -> None:
    cache.victims.decided(["uid-x"])
    cache.delete_pod("uid-x")
    cache.victims.decided(["uid-x"])

    cache.upsert_pod(replace(X, uid="another"))

    assert [] == leaving(cache)


def test_a_mark_of_another_life_does_not_make_a_pod_leave(cache: Cache) -> None:
    cache.upsert_pod(replace(X, marked_as_victim=True))

    assert ([], True) == (leaving(cache), "x" in staying(cache, NOW + 1))


@pytest.mark.parametrize(
    ("shown", "is_victim", "patience"),
    [
        (ENDING, False, PATIENCE_SECONDS),
        (ENDING, True, HANGS_AFTER),
        (replace(ENDING, marked_as_victim=True), False, HANGS_AFTER),
    ],
)
def test_a_pod_that_hangs_in_termination_neither_leaves_nor_stays(
    cache: Cache,
    shown: Pod,
    is_victim: bool,  # noqa: FBT001 - a row of a table.
    patience: int,
) -> None:
    cache.victims.decided(["uid-x"] if is_victim else [])
    cache.upsert_pod(shown)
    last = ENDING.gone_by + patience

    assert (["x"], []) == (leaving(cache, last), leaving(cache, last + 1))
    assert "x" not in staying(cache, last + 2)


def test_a_victim_is_not_given_up_before_another_pod_would_be() -> None:
    impatient = Leaving(PreemptionRules(victim_timeout_seconds=0))
    impatient.decided(ENDING, None)
    last = ENDING.gone_by + PATIENCE_SECONDS

    assert [True, False] == [impatient.is_awaited("uid-x", now) for now in (last, last + 1)]


LONG = 315_360_000
LEAVES_LATE = replace(ENDING, gone_by=NOW + LONG, grace_seconds=LONG)
RULES = NO_SETTINGS.preemption


@pytest.mark.parametrize(
    ("shown", "longest"),
    [
        (LEAVES_LATE, RULES.max_termination_seconds),
        (replace(LEAVES_LATE, marked_as_victim=True), RULES.max_grace_period_seconds),
    ],
)
def test_a_pod_that_leaves_later_than_is_waited_for_stays_until_then(
    cache: Cache, shown: Pod, longest: int
) -> None:
    cache.upsert_pod(shown)
    first = shown.gone_by - longest - PATIENCE_SECONDS

    assert ([], ["x"]) == (leaving(cache, first - 1), leaving(cache, first))
    assert "x" in staying(cache, first - 2)
    assert [(True, True), (False, False)] == [
        (cache.evictable_pods.leaving.stays("uid-x", now), "x" in staying(cache, now))
        for now in (first - 3, first)
    ]


def test_one_that_leaves_late_and_is_evicted_leaves_from_the_decision_on(cache: Cache) -> None:
    cache.upsert_pod(LEAVES_LATE)
    before = leaving(cache)
    cache.victims.decided(["uid-x"])
    decided = leaving(cache, NOW + 1)
    cache.upsert_pod(replace(LEAVES_LATE, gone_by=NOW + LONG + 1))
    again = leaving(cache, NOW + 2)
    cache.victims.decided(["uid-x"])
    cache.upsert_pod(replace(LEAVES_LATE, gone_by=NOW + RULES.max_termination_seconds))
    hurried = leaving(cache, NOW + 3)

    assert [[], ["x"], [], ["x"]] == [before, decided, again, hurried]


def victims_of(*pods: Pod, rules: PreemptionRules = NO_SETTINGS.preemption) -> list[str]:
    """Return which of the pods, each on a node of its own, go for one that needs a whole node."""
    made = Cache([SCHEDULER], Changes(), Rules(preemption=rules))
    for each in pods:
        made.upsert(made.node_store, node(each.node, cpu=1))
        made.upsert_pod(each)
    made.upsert_pod(pod("high", priority=1000, cpu=1))
    found = schedule(made.snapshot(NOW), PROFILES["binpack"]).preemptions
    return [each.pod.name for preemption in found for each in preemption.victims]


USUAL = pod("usual", node="n2", phase="Running", priority=500, cpu=1)
LATE = pod("late", node="n1", phase="Running", cpu=1)
LONG_LIVED = [
    replace(LATE, grace_seconds=LONG),
    replace(LATE, grace_seconds=LONG, deleting=True, gone_by=NOW + LONG),
    replace(LATE, deleting=True, gone_by=NOW + LONG),
]


@pytest.mark.parametrize("late", LONG_LIVED, ids=["long grace", "deleted", "deleted with it"])
def test_what_may_take_long_to_end_goes_only_where_nothing_else_makes_room(late: Pod) -> None:
    assert [["usual"], ["late"]] == [victims_of(late, USUAL), victims_of(late)]


@pytest.mark.parametrize(("allowed", "victim"), [(59, "usual"), (60, "late")])
def test_the_setting_says_how_long_a_pod_may_take_to_end(allowed: int, victim: str) -> None:
    rules = replace(NO_SETTINGS.preemption, max_termination_seconds=allowed)
    late = replace(LATE, grace_seconds=60)

    assert [victim] == victims_of(late, USUAL, rules=rules)


def test_where_budgets_are_limits_a_long_grace_makes_no_pod_immune() -> None:
    rules = replace(NO_SETTINGS.preemption, use_eviction_api=True)

    assert [["late"]] * 3 == [victims_of(each, rules=rules) for each in LONG_LIVED]


def test_what_leaves_late_is_protected_as_it_was_before() -> None:
    label = {"scheduling.koordinator.sh/disable-preemptible": "true"}

    assert [] == victims_of(replace(LONG_LIVED[1], labels=label))


def test_a_pod_without_a_known_end_does_not_hang(cache: Cache) -> None:
    cache.upsert_pod(replace(ENDING, gone_by=0))

    assert ["x"] == leaving(cache, NOW + 10_000)


def test_a_gang_can_spare_fewer_members_while_some_leave(cache: Cache) -> None:
    before = bound_pods(cache).surplus

    cache.victims.decided(["uid-a-1"])

    assert ({gang_key("a"): 2}, {gang_key("a"): 1}) == (before, bound_pods(cache, NOW + 1).surplus)


def test_victims_use_up_what_budgets_allow_until_the_api_server_knows(cache: Cache) -> None:
    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=3)
    )
    cache.victims.decided(["uid-x", "uid-a-1"])
    decided = bound_pods(cache).allowed

    cache_feeding.upsert(
        cache, POD_DISRUPTION_BUDGETS, DeclaredBudget("uid-b", NAMESPACE, "b", (), allowed=2)
    )
    cache.upsert_pod(ENDING)

    assert ({"default/b": 1}, {"default/b": 1}) == (decided, bound_pods(cache, NOW + 1).allowed)
