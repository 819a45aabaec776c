"""What a cycle knows of running gangs: also which overran the end that let them pass."""

from dataclasses import replace

import pytest

from gang_scheduler.model.evictions import Backfilled, EvictionClass
from gang_scheduler.model.queues import EvictionPolicy, EvictionRules
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.state.queues.reservations import ReservationSettings
from support.builders import NAMESPACE
from support.queue_builders import our_queue
from support.queue_clusters import QueueCluster
from support.queue_worlds import BINPACK

NOW = 1_000
UNTIL = 900
NEVER = EvictionPolicy.NEVER
PEACEFUL = EvictionRules(NEVER, NEVER, NEVER)
BIG, PASSED = (GangKey("Pod", NAMESPACE, name) for name in ("big", "passed"))


def cluster(
    rules: EvictionRules = PEACEFUL, ahead_of: GangKey = BIG, *, enforce: bool = True
) -> QueueCluster:
    """Return queue a, full of a gang that was let pass, with another that waits."""
    settings = ReservationSettings(enforce_backfill=enforce)
    made = QueueCluster(reservation_settings=settings)
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
