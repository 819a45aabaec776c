"""What a cycle knows of running gangs: also which overran the end that let them pass."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gang_scheduler.model.api_words import EvictionPolicy
from gang_scheduler.model.bound_pods import BoundGang
from gang_scheduler.model.evictions import Backfilled, EvictionClass, RunTime
from gang_scheduler.model.queues import EvictionRules
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import PromiseRules
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.state.queues.running_gangs import PUT_OFF_SECONDS
from support.builders import NAMESPACE, pod
from support.call_counts import calls_of
from support.queue_builders import our_queue
from support.queue_clusters import QueueCluster
from support.queue_worlds import BINPACK

NOW = 1_000
UNTIL = 900
END_OF = "run_times.RunTimes.end_of"
NEVER = EvictionPolicy.NEVER
PEACEFUL = EvictionRules(NEVER, NEVER, NEVER)
BIG, PASSED = (GangKey("Pod", NAMESPACE, name) for name in ("big", "passed"))


def cluster(
    rules: EvictionRules = PEACEFUL, ahead_of: GangKey = BIG, *, enforce: bool = True
) -> QueueCluster:
    """Return queue a, full of a gang that was let pass, with another that waits."""
    settings = PromiseRules(reservations=0, enforce_backfill=enforce)
    made = QueueCluster(promises=settings)
    made.declare(our_queue("a", 8000, uid="a", evictions=rules))
    made.put("passed", "a", node="n-spot", cpu=8, phase="Running")
    made.put("big", "a", cpu=8, priority=1)
    info = made.gangs.infos[PASSED]
    info.backfilled, info.admitted_here = Backfilled(UNTIL, ahead_of), True
    return made


def evicted(made: QueueCluster, now: int = NOW) -> list[dict[GangKey, EvictionClass]]:
    return [dict(each.classes) for each in schedule(made.cache.snapshot(now), BINPACK).preemptions]


def test_what_overran_goes_though_no_policy_lets_any_gang_go_and_no_start_is_promised() -> None:
    assert [{PASSED: EvictionClass.OVERRUN}] == evicted(cluster())


def test_it_goes_by_that_class_where_policies_would_let_it_go_too() -> None:
    lower = replace(PEACEFUL, within_queue=EvictionPolicy.LOWER_PRIORITY)

    assert [{PASSED: EvictionClass.OVERRUN}] == evicted(cluster(lower))
    assert [{PASSED: EvictionClass.IN_QUEUE}] == evicted(cluster(lower), UNTIL - 1)


def test_before_its_end_and_for_other_gangs_it_stays() -> None:
    other = GangKey("Pod", NAMESPACE, "other")

    assert [] == evicted(cluster(), UNTIL - 1)
    assert [] == evicted(cluster(ahead_of=other))
    assert [] == evicted(cluster(enforce=False))


@pytest.mark.parametrize(("now", "looked_at"), [(UNTIL - 1, False), (UNTIL, True)])
def test_pods_on_nodes_are_looked_at_only_where_one_may_go(now: int, *, looked_at: bool) -> None:
    assert looked_at == (cluster().cache.snapshot(now).bound_pods is not None)


def test_a_cycle_looks_only_at_the_gangs_of_which_a_pod_has_changed() -> None:
    made = cluster(replace(PEACEFUL, within_queue=EvictionPolicy.LOWER_PRIORITY))
    for number in range(9):
        made.put(f"g-{number}", "a", gang=f"g-{number}", node="n-spot", phase="Running")
    made.cache.running(NOW)
    made.cache.delete_pod("uid-g-0")
    made.put("g-1", "a", gang="g-1", node="n-spot", phase="Running", priority=1)

    calls = calls_of(lambda: made.cache.running(NOW))

    assert 1 == calls["running_gangs.RunningGangs._of"]
    assert 1 == calls["protections.Protections.of_gang"]


def lasting(made: QueueCluster, name: str, started_at: int, expected: int) -> None:
    """Let a pod of gang `g` run that says how long it does; put it again to change that."""
    runs = pod(name, gang="g", node="n-spot", phase="Running", started_at=started_at, pods=0)
    made.cache.upsert_pod(replace(runs, run_time=RunTime(expected=expected)))


def end_of_g(made: QueueCluster, now: int) -> int | None:
    """Return when gang `g` is expected to end."""
    (gang,) = made.cache.running(now).gangs.values()
    return gang.known.ends_at


def test_an_end_that_is_put_off_while_the_gang_runs_is_not_known() -> None:
    """Else a start would be promised after it again and again. A little later it may be."""
    made = QueueCluster()
    made.declare()
    lasting(made, "a", NOW, 60)

    assert NOW + 60 == end_of_g(made, NOW)
    lasting(made, "a", NOW, 60 + PUT_OFF_SECONDS)
    assert NOW + 60 + PUT_OFF_SECONDS == end_of_g(made, NOW + 50)
    lasting(made, "a", NOW, 61 + PUT_OFF_SECONDS)
    assert end_of_g(made, NOW + 50) is None
    lasting(made, "a", NOW, 100)
    assert NOW + 100 == end_of_g(made, NOW + 50)


def test_nor_is_one_that_pods_put_off_which_come_one_after_the_other() -> None:
    made = QueueCluster()
    made.declare()
    lasting(made, "a", NOW, 600)
    lasting(made, "b", NOW, 600)
    assert NOW + 600 == end_of_g(made, NOW)

    lasting(made, "c", NOW + 500, 600)
    made.cache.delete_pod("uid-a")
    assert NOW + 1100 == end_of_g(made, NOW + 550)
    made.cache.delete_pod("uid-b")
    lasting(made, "d", NOW + 1000, 600)
    assert end_of_g(made, NOW + 1050) is None

    made.cache.delete_pod("uid-c")
    made.cache.delete_pod("uid-d")
    lasting(made, "e", NOW + 1200, 600)
    assert NOW + 1800 == end_of_g(made, NOW + 1200)


def gang_now(made: QueueCluster, now: int = NOW) -> BoundGang:
    bound_pods = made.cache.snapshot(now).bound_pods
    assert bound_pods is not None
    return bound_pods.gangs[PASSED]


def waited_for() -> QueueCluster:
    """Return a cluster in which one gang runs, and another one waits that may evict."""
    made = QueueCluster()
    made.declare(our_queue("a", 8000, uid="a"))
    made.put("passed", "a", node="n-spot", cpu=8, phase="Running")
    made.put("big", "a", cpu=8, priority=1)
    return made


def test_a_gang_that_stays_as_it_is_is_the_same_object() -> None:
    made = waited_for()
    before = gang_now(made)
    made.put("other", "a", node="n-spot", cpu=1, phase="Running")
    made.gangs.undecided([BIG])

    assert before is gang_now(made, NOW + 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.put("passed", "a", node="n-spot", cpu=4, phase="Running"),
        lambda made: made.put("passed", "a", node="n-spot", cpu=8, phase="Running", priority=-1),
        lambda made: setattr(made.gangs.infos[PASSED], "backfilled", Backfilled(UNTIL, BIG)),
        lambda made: (
            made.declare(our_queue("b", 8000, uid="b"))
            or made.put("passed", "b", node="n-spot", cpu=8, phase="Running")
        ),
    ],
)
def test_one_that_changes_is_another_one(change: Callable[[QueueCluster], object]) -> None:
    made = waited_for()
    before = gang_now(made)
    change(made)
    made.gangs.undecided([BIG])
    after = gang_now(made)

    assert before is not after
    assert (before.pods, before.charged, before.known) != (after.pods, after.charged, after.known)


def test_an_end_that_no_time_has_changed_is_not_worked_out_again() -> None:
    made = cluster()
    for number in range(9):
        made.put(f"g-{number}", "a", gang=f"g-{number}", node="n-spot", phase="Running")

    first = calls_of(lambda: made.cache.running(NOW))
    second = calls_of(lambda: made.cache.running(NOW + 60))

    assert (10, 0) == (first[END_OF], second[END_OF])
