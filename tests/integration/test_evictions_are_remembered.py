"""What gangs yield to is written before the first of their pods is deleted."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.plan import Preemption
from gang_scheduler.report.checkpoints import EvictionWriter
from gang_scheduler.report.queues.gang_texts import EvictionTexts
from integration.support.victims_and_preemptor import (
    NAMESPACE,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
    workloads,
)
from support.builders import gang_key
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

LOW = gang_key("low")


def process_of(made: FakeWorkloads) -> SchedulerProcess:
    """Return a process that says of each victim that its queue borrowed."""
    process = SchedulerProcess(made)
    texts = EvictionTexts(process.cache, Naming())
    process.evictor._remember = EvictionWriter(process.api, process.cache, texts, Writes()).write
    submit = process.evictor.submit

    def with_classes(preemption: Preemption) -> None:
        classes = {each.gang: EvictionClass.RECLAIM for each in preemption.victims}
        submit(replace(preemption, classes=classes))

    # Without queues no plan has classes.
    process.evictor.submit = with_classes  # type: ignore[method-assign]
    return process


def evictions(made: FakeWorkloads) -> dict[str, Any] | None:
    """Return what the PodGroup of the victims remembers."""
    status = made.cluster.get(POD_GROUPS, NAMESPACE, "low").get("status") or {}
    found: dict[str, Any] | None = status.get("evictions")
    return found


async def test_it_is_written_once_between_the_marks_and_the_deletions() -> None:
    made = workloads()
    async with process_of(made) as process:
        await process.until(lambda: is_bound(made))
        calls = [call.method for call in process.api.calls]

    found = evictions(made)
    assert found is not None
    assert [("default/high", "Reclaim")] == [(e["by"], e["class"]) for e in found["yieldedTo"]]
    assert 1 == calls.count("patch_status")
    written = calls.index("patch_status")
    assert VICTIMS == calls[:written].count("patch_pod_condition")
    assert VICTIMS == calls[written:].count("delete_pod")
    assert_the_right_ones_went(made)


@pytest.mark.parametrize("fault", [Fault(ApiError(500, "no")), Fault(hangs=True)])
async def test_a_write_that_fails_or_hangs_holds_no_eviction_up(fault: Fault) -> None:
    made = workloads()
    async with process_of(made) as process:
        process.api.fail("patch_status", fault)
        await process.until(lambda: is_bound(made), 10)

        assert 1 == process.cache.evictions.of(LOW).count
    assert_the_right_ones_went(made)


@pytest.mark.parametrize("after", [False, True])
async def test_a_kill_at_the_write_comes_before_any_deletion(*, after: bool) -> None:
    made = workloads()
    async with process_of(made) as first:
        first.api.fail("patch_status", Fault(hangs=True, after=after))
        await first.until(lambda: any(c.method == "patch_status" for c in first.api.calls))
    assert after == (evictions(made) is not None)
    assert ["n1"] * VICTIMS == made.nodes("low")

    async with process_of(made) as second:
        await second.until(lambda: is_bound(made))

    assert evictions(made)
    assert_the_right_ones_went(made)


async def test_a_preemption_that_cannot_go_on_is_not_remembered() -> None:
    made = workloads()
    async with process_of(made) as process:
        process.api.fail("delete_pod", *[Fault(ApiError(400, "no"))] * VICTIMS)
        await process.until(lambda: is_bound(made))

        assert process.api.calls[-1].method == "bind"
        assert sum(call.method == "patch_status" for call in process.api.calls) > 1
        assert 1 == process.cache.evictions.of(LOW).count
