"""For how long pods may go on once they are deleted."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.apply.grace_periods import GracePeriods
from gang_scheduler.decode.queues import ours
from gang_scheduler.model.rules import PreemptionRules
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.builders import SCHEDULER, pod


def grace(
    own: int, queue: str | None = None, above: str | None = None, most: int = 600, **fields: Any
) -> int | None:
    """Return the grace period of a pod that asks for its own, in a queue below another one."""
    cache = Cache([SCHEDULER], Changes())
    for name, parent, period in (("team", "all", queue), ("all", None, above)):
        spec: dict[str, Any] = {"parent": parent} if parent else {}
        spec |= {"preemption": {"gracePeriod": period}} if period else {}
        body = {"metadata": {"name": name, "uid": name}, "spec": spec}
        cache_feeding.upsert(cache, QUEUES, ours.queue(body))
    labels = {"py-gang-scheduler.io/queue": "team"}
    member = pod("w-0", node="n1", phase="Running", labels=labels, **fields)
    member = replace(member, grace_seconds=own)
    cache.upsert_pod(member)
    cache.snapshot(1000)
    return GracePeriods(cache, PreemptionRules(max_grace_period_seconds=most)).of(member)


@pytest.mark.parametrize(
    ("own", "queue", "expected"),
    [(30, None, None), (30, "30s", None), (30, "2m", 120), (300, "2m", None), (0, "1s", 1)],
)
def test_the_longer_one_counts(own: int, queue: str | None, expected: int | None) -> None:
    assert expected == grace(own, queue)


def test_the_next_queue_above_says_it_where_the_queue_does_not() -> None:
    assert 90 == grace(30, None, "90s")
    assert 60 == grace(30, "60s", "90s")


def test_the_setting_bounds_what_a_queue_gives() -> None:
    assert 100 == grace(30, "1h", most=100)
    assert grace(200, "1h", most=100) is None


@pytest.mark.parametrize(
    ("own", "queue", "expected"),
    [(301, None, 300), (315_360_000, "30s", 300), (315_360_000, "10m", 600), (500, "10m", 600)],
)
def test_no_pod_gets_longer_than_is_waited_for(own: int, queue: str | None, expected: int) -> None:
    assert expected == grace(own, queue)


@pytest.mark.parametrize(("own", "expected"), [(30, 30), (315_360_000, 300)])
def test_a_pod_that_terminates_already_has_its_grace_period_up_to_the_limit(
    own: int, expected: int
) -> None:
    assert expected == grace(own, deleting=True, gone_by=10**9)


def test_a_pod_without_a_queue_has_its_own() -> None:
    assert GracePeriods(Cache([SCHEDULER], Changes())).of(pod("w-0", node="n1")) is None
