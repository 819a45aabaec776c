"""Victims that are all the pods of a managed workload: it is suspended, and no pod is deleted."""

from collections.abc import Iterable
from typing import Any

import pytest

from gang_scheduler.api.annotations import ADMITTED_AT
from gang_scheduler.api.kinds import GVR, JOBS, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.suspended import ManagedWorkload
from integration.support.victims_and_preemptor import (
    MEMBERS,
    NAMESPACE,
    VICTIMS,
    assert_the_right_ones_went,
    is_bound,
    workloads,
)
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

AT = "2026-01-02T03:04:05Z"
WRITES = MEMBERS + VICTIMS + 1 + MEMBERS
"""Nominations, marks, the suspension and bindings."""
FORBIDDEN = ApiError(403, "forbidden")


class Managed:
    """The workloads of pods that are called after a Job of the cluster."""

    def __init__(self, made: FakeWorkloads) -> None:
        self._made = made

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the Job of a pod, if there is one."""
        name = pod.name.rpartition("-")[0]
        if not self._made.cluster.has(JOBS, NAMESPACE, name):
            return None
        uid = self._made.cluster.get(JOBS, NAMESPACE, name)["metadata"]["uid"]
        return ManagedWorkload("Job", NAMESPACE, name, uid)

    def pods_of(self, workload: ManagedWorkload) -> Iterable[Pod]:
        """Return the pods that are called after a Job."""
        pods = self._made.pods()
        return [pod for name, pod in pods.items() if name.startswith(f"{workload.name}-")]


def with_jobs(*names: str) -> FakeWorkloads:
    """Return victims and a preemptor; the pods of these gangs are of admitted Jobs."""
    made = workloads()
    for name in names:
        metadata = {"name": name, "namespace": NAMESPACE, "annotations": {ADMITTED_AT: AT}}
        made.cluster.put(JOBS, {"kind": "Job", "metadata": metadata, "spec": {"suspend": False}})

    def control(gvr: GVR, change: Change, document: Document) -> None:
        """Do what the controller of Jobs does for one that is suspended."""
        if gvr == JOBS and change == "MODIFIED" and document["spec"]["suspend"]:
            name = document["metadata"]["name"]
            for pod in [each for each in made.pods() if each.startswith(f"{name}-")]:
                made.cluster.delete(PODS, NAMESPACE, pod)

    made.cluster.watchers.append(control)
    return made


def process(made: FakeWorkloads, **how: Any) -> SchedulerProcess:
    return SchedulerProcess(made, managed=Managed(made), **how)


def job(made: FakeWorkloads, name: str = "low") -> dict[str, Any]:
    return made.cluster.get(JOBS, NAMESPACE, name)


async def test_a_job_of_victims_is_suspended_and_its_pods_are_not_deleted() -> None:
    made = with_jobs("low")
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        methods = [method for method, _ in running.writes()]
        stages = {"nominate": MEMBERS, "patch_pod_condition": VICTIMS, "patch": 1, "bind": MEMBERS}
        assert [name for name, number in stages.items() for _ in range(number)] == methods
        assert ("patch", "low") in running.writes()
        assert_the_right_ones_went(made)

    assert job(made)["spec"]["suspend"] is True
    assert ADMITTED_AT not in job(made)["metadata"]["annotations"]


async def test_the_job_of_pods_that_are_spared_runs_on() -> None:
    made = with_jobs("low", "mid")
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

    assert [True, False] == [job(made, name)["spec"]["suspend"] for name in ("low", "mid")]


@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_between_two_writes_the_next_life_ends_as_the_first_would_have(
    number: int, *, after: bool
) -> None:
    made = with_jobs("low")
    async with process(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with process(made) as second:
        await second.until(lambda: is_bound(made) and not made.nodes("low"))

        assert "delete_pod" not in [method for method, _ in second.writes()]
    assert_the_right_ones_went(made)
    assert job(made)["spec"]["suspend"] is True


@pytest.mark.parametrize("after", [False, True])
async def test_a_suspension_without_an_answer_is_settled(*, after: bool) -> None:
    made = with_jobs("low")
    async with process(made) as running:
        running.api.fail("patch", Fault(ApiError(0, "broken"), after=after))
        await running.until(lambda: is_bound(made))

        assert "delete_pod" not in [method for method, _ in running.writes()]
    assert_the_right_ones_went(made)


async def test_a_change_of_the_job_in_between_is_met_by_another_try() -> None:
    made = with_jobs("low")

    def change(call: Call) -> Fault | None:
        if call.method == "patch" and job(made)["metadata"]["generation"] == 1:
            with made.cluster.changing(JOBS, NAMESPACE, "low") as found:
                found["metadata"]["generation"] = 2
        return None

    async with process(made) as running:
        running.api.scripts.append(change)
        await running.until(lambda: is_bound(made))

        assert 2 == [method for method, _ in running.writes()].count("patch")
    assert_the_right_ones_went(made)


async def test_where_the_job_may_not_be_patched_its_pods_are_deleted() -> None:
    made = with_jobs("low")
    async with process(made) as running:
        running.api.scripts.append(lambda it: Fault(FORBIDDEN) if it.method == "patch" else None)
        await running.until(lambda: is_bound(made))

        assert VICTIMS == [method for method, _ in running.writes()].count("delete_pod")
    assert_the_right_ones_went(made)
    assert job(made)["spec"]["suspend"] is False


async def test_a_job_that_a_user_took_from_us_loses_its_pods_and_runs_on() -> None:
    made = with_jobs("low")
    with made.cluster.changing(JOBS, NAMESPACE, "low") as found:
        del found["metadata"]["annotations"][ADMITTED_AT]
    async with process(made) as running:
        await running.until(lambda: is_bound(made))

        assert VICTIMS == [method for method, _ in running.writes()].count("delete_pod")
    assert job(made)["spec"]["suspend"] is False


async def test_a_job_that_a_user_suspends_meanwhile_stays_the_users() -> None:
    made = with_jobs("low")

    def suspend_by_hand(call: Call) -> Fault | None:
        if call.method == "get" and call.name == "low":
            with made.cluster.changing(JOBS, NAMESPACE, "low") as found:
                found["spec"]["suspend"] = True
        return None

    async with process(made) as running:
        running.api.scripts.append(suspend_by_hand)
        await running.until(lambda: is_bound(made))

        assert {"delete_pod", "patch"}.isdisjoint(method for method, _ in running.writes())
    assert AT == job(made)["metadata"]["annotations"][ADMITTED_AT]
