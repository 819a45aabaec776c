"""What becomes of a gang after its first bind: members die, end, return, and move elsewhere."""

import concurrent.futures
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import pytest

from e2e.support.manifests import GANG_LABEL, SCHEDULER, Manifest, gang, members, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import wholeness

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

JOB_PODS = 20
JOB_SECONDS = 60.0
SETTLE_SECONDS = 3.0


def test_a_member_that_dies_is_replaced_alone_however_many_are_left(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=4)
    namespace.create(*gang("a", 4, on=namespace.here))
    eventually("Running", lambda: namespace.phase("a"))
    for number in range(3):
        namespace.set_phase(f"a-{number}", "Failed")

    # One survivor of four: fewer than minMember wait, and are bound.
    namespace.create(*members("a", 2, first=4, on=namespace.here))

    eventually(2, lambda: len(namespace.bound("a-4") | namespace.bound("a-5")))


def test_when_no_member_is_left_the_gang_starts_together_again_or_not_at_all(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=4)
    namespace.create(*gang("a", 4, on=namespace.here))
    eventually("Running", lambda: namespace.phase("a"))
    namespace.delete("pods", *(f"a-{number}" for number in range(4)))

    with namespace.watch() as watcher:
        namespace.create(*members("a", 3, first=4, on=namespace.here))
        eventually("WaitingForMembers", lambda: reason(namespace, "a-4"))
        assert set() == watcher.ever_bound("a")
        namespace.create(*members("a", 1, first=7, on=namespace.here))
        eventually(4, lambda: len(namespace.bound("a-")))
        assert [] == watcher.partial_gangs({"a": 4})


def test_members_that_succeeded_leave_their_room_and_count_in_the_status(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=3)
    namespace.create(*gang("a", 3, on=namespace.here))
    eventually("Running", lambda: namespace.phase("a"))
    namespace.set_phase("a-0", "Succeeded")
    namespace.create(pod("next", on=namespace.here))

    until(lambda: namespace.node_of("next"))
    eventually((2, 1), lambda: counts(namespace, "a", "scheduled", "succeeded"))
    for name in ("a-1", "a-2"):
        namespace.set_phase(name, "Succeeded")
    eventually("Finished", lambda: namespace.phase("a"))


def test_an_elastic_gang_is_scaled_up_and_down_and_up(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=6)
    namespace.create(*gang("a", 3, min_member=2, on=namespace.here))
    eventually(3, lambda: len(namespace.bound("a-")))

    namespace.create(*members("a", 4, first=3, on=namespace.here))
    eventually(6, lambda: len(namespace.bound("a-")))
    eventually((7, 6), lambda: counts(namespace, "a", "members", "scheduled"))
    namespace.delete("pods", *sorted(namespace.bound("a-"))[:5])

    # The one that found no room has it now.
    eventually(2, lambda: len(namespace.bound("a-")))
    namespace.create(*members("a", 4, first=10, on=namespace.here))
    eventually(6, lambda: len(namespace.bound("a-")))
    eventually("Running", lambda: namespace.phase("a"))


def test_a_gang_whose_pod_group_is_deleted_while_it_runs_keeps_running(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=3)
    namespace.create(*gang("a", 3, on=namespace.here))
    eventually(3, lambda: len(namespace.bound("a-")))

    namespace.delete("podgroups", "a")
    namespace.delete("pods", "a-2")
    namespace.create(*members("a", 1, first=3, on=namespace.here))

    eventually("PodGroupNotFound", lambda: reason(namespace, "a-3"))
    assert {"a-0", "a-1"} == set(namespace.bound("a-"))
    # What it was is not forgotten: two run, so one may follow.
    namespace.create(pod_group("a", 3))
    eventually(3, lambda: len(namespace.bound("a-")))
    eventually(3, lambda: namespace.status("a").get("scheduled"))


def test_a_gang_whose_pod_group_is_deleted_while_it_waits_goes_on_waiting(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(1, cpu=3)
    namespace.create(pod("before", cpu=3, on=namespace.here))
    until(lambda: namespace.node_of("before"))
    with namespace.watch() as watcher:
        namespace.create(*gang("a", 3, on=namespace.here))
        eventually("Unschedulable", lambda: reason(namespace, "a-0"))

        namespace.delete("podgroups", "a")
        eventually("PodGroupNotFound", lambda: reason(namespace, "a-0"))
        namespace.delete("pods", "before")
        namespace.create(pod("after", cpu=1, on=namespace.here))
        until(lambda: namespace.node_of("after"))
        assert set() == watcher.ever_bound("a")

        namespace.delete("pods", "after")
        namespace.create(pod_group("a", 3))
        eventually(3, lambda: len(namespace.bound("a-")))
        assert [] == watcher.partial_gangs({"a": 3})


@pytest.mark.parametrize("ended", ["Succeeded", "Failed"])
def test_a_second_run_beside_the_ended_pods_of_the_first_is_whole_or_not_at_all(
    namespace: Namespace, ended: str
) -> None:
    namespace.own_nodes(1, cpu=4)
    namespace.create(*gang("a", 4, on=namespace.here))
    eventually("Running", lambda: namespace.phase("a"))
    for number in range(4):
        namespace.set_phase(f"a-{number}", ended)
    # Room for three of the four.
    namespace.create(pod("other", on=namespace.here))
    until(lambda: namespace.node_of("other"))
    first = set(namespace.bound("a-"))

    namespace.create(*members("a", 4, first=4, on=namespace.here))

    eventually("Unschedulable", lambda: reason(namespace, "a-4"))
    assert first == set(namespace.bound("a-"))
    namespace.delete("pods", "other")
    eventually(8, lambda: len(namespace.bound("a-")))
    eventually("Running", lambda: namespace.phase("a"))


def test_a_waiting_pod_moved_by_its_label_counts_for_its_new_gang_only(
    namespace: Namespace,
) -> None:
    with namespace.watch() as watcher:
        namespace.create(*gang("a", 2, min_member=3), *gang("b", 2, min_member=3))
        eventually((2, 2), lambda: (members_of(namespace, "a"), members_of(namespace, "b")))

        move(namespace, "a-0", "b")

        eventually({"a-0", "b-0", "b-1"}, lambda: set(namespace.bound()))
        eventually((1, 3), lambda: (members_of(namespace, "a"), members_of(namespace, "b")))
        assert set() == watcher.ever_bound("a")


def test_a_bound_pod_moved_by_its_label_counts_for_its_new_gang_only(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 3))
    eventually(3, lambda: len(namespace.bound("a-")))
    namespace.create(*gang("b", 2, min_member=3))

    move(namespace, "a-0", "b")

    eventually(2, lambda: len(namespace.bound("b-")))
    eventually((2, 3), lambda: (members_of(namespace, "a"), members_of(namespace, "b")))
    # The gang that it left was whole once: a replacement may follow alone.
    namespace.create(*members("a", 1, first=3))
    until(lambda: namespace.node_of("a-3"))


class Check(Protocol):
    """What is to hold for a Job, in a namespace of its own."""

    def __call__(self, namespace: Namespace, *, by_label: bool) -> None:
        """Fail unless it holds; the Job is one gang by the owner label, else by a PodGroup."""


Both = Callable[[Check], None]


@pytest.fixture
def both(plane: controlplane.ControlPlane, namespace: Namespace) -> Iterator[Both]:
    """Give what checks both kinds of Jobs at once: most of the time a Job waits."""
    with Namespace(plane, f"{namespace.name}-group") as other:

        def check_both(check: Check) -> None:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                by_label = pool.submit(check, namespace, by_label=True)
                by_group = pool.submit(check, other, by_label=False)
            by_label.result()
            by_group.result()

        yield check_both


def test_a_job_of_20_that_never_restarts_pods_is_whole_through_three_restarts(
    both: Both,
) -> None:
    both(whole_through_three_restarts)


def whole_through_three_restarts(namespace: Namespace, *, by_label: bool) -> None:
    namespace.own_nodes(4, cpu=5)
    with namespace.watch() as watcher:
        if not by_label:
            namespace.create(pod_group("job", JOB_PODS))
        namespace.create(job(namespace, by_label=by_label))
        runs = [starts_whole(namespace, set())]

        # 1. All pods are deleted: the Job makes new ones.
        before = uids(namespace)
        namespace.delete_all("pods")
        runs.append(starts_whole(namespace, before))

        # 2. All pods fail: it makes new ones beside them.
        before = uids(namespace)
        for name in names(namespace):
            namespace.set_phase(name, "Failed")
        runs.append(starts_whole(namespace, before))

        # 3. The Job is deleted and created again.
        before = uids(namespace)
        options = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        namespace.cluster.request("DELETE", f"{namespace.path('jobs')}/job", options)
        eventually([], lambda: namespace.every("pods"), JOB_SECONDS)
        namespace.create(job(namespace, by_label=by_label))
        runs.append(starts_whole(namespace, before))

        assert [JOB_PODS] * 4 == [len(run) for run in runs]
        assert [] == partial_runs(watcher, runs)


def test_a_restarted_job_with_room_for_all_but_one_starts_none(
    both: Both,
) -> None:
    both(none_without_room_for_all)


def none_without_room_for_all(namespace: Namespace, *, by_label: bool) -> None:
    before = four_that_run(namespace, by_label=by_label)
    with namespace.watch() as watcher:
        for name in names(namespace):
            namespace.set_phase(name, "Failed")
        # Jobs wait some seconds before they make new pods.
        namespace.create(pod("other", on=namespace.here))
        until(lambda: namespace.node_of("other"))
        eventually(4, lambda: len(fresh(namespace, before)), JOB_SECONDS)
        eventually({"Unschedulable"}, lambda: reasons(fresh(namespace, before)))
        assert set() == bound_of(fresh(namespace, before))

        namespace.delete("pods", "other")
        run = starts_whole(namespace, before, 4)
        assert [] == partial_runs(watcher, [run])


def test_the_last_failed_member_of_a_job_whose_others_succeeded_is_replaced(
    both: Both,
) -> None:
    both(last_failed_member_is_replaced)


def last_failed_member_is_replaced(namespace: Namespace, *, by_label: bool) -> None:
    before = four_that_run(namespace, by_label=by_label)
    *succeed, last = names(namespace)
    for name in succeed:
        namespace.set_phase(name, "Succeeded")
    eventually(3, lambda: namespace.get("jobs", "job")["status"].get("succeeded"))

    namespace.set_phase(last, "Failed")

    starts_whole(namespace, before, 1)


def test_what_is_left_of_a_job_of_which_one_succeeded_restarts_whole_or_not_at_all(
    both: Both,
) -> None:
    both(rest_restarts_whole_or_not_at_all)


def rest_restarts_whole_or_not_at_all(namespace: Namespace, *, by_label: bool) -> None:
    before = four_that_run(namespace, by_label=by_label)
    first, *others = names(namespace)
    namespace.set_phase(first, "Succeeded")
    eventually(1, lambda: namespace.get("jobs", "job")["status"].get("succeeded"))
    # Room for two of the three that are left.
    namespace.create(pod("other", cpu=1, on=namespace.here))
    until(lambda: namespace.node_of("other"))
    for name in others:
        namespace.set_phase(name, "Failed")
    namespace.create(pod("another", cpu=1, on=namespace.here))
    until(lambda: namespace.node_of("another"))

    eventually(3, lambda: len(fresh(namespace, before)), JOB_SECONDS)
    eventually({"Unschedulable"}, lambda: reasons(fresh(namespace, before)))
    assert set() == bound_of(fresh(namespace, before))
    namespace.delete("pods", "other")
    starts_whole(namespace, before, 3)


def four_that_run(namespace: Namespace, *, by_label: bool) -> set[str]:
    """Start a Job of four where there is room for no more, and return the uids of its pods."""
    namespace.own_nodes(1, cpu=4)
    if not by_label:
        namespace.create(pod_group("job", 4))
    namespace.create(job(namespace, 4, by_label=by_label))
    starts_whole(namespace, set(), 4)
    return uids(namespace)


def job(namespace: Namespace, pods: int = JOB_PODS, *, by_label: bool) -> Manifest:
    """Return a Job whose pods are one gang, by the owner label or by a PodGroup."""
    labels = {"py-gang-scheduler.io/gang": "true"} if by_label else {GANG_LABEL: "job"}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            # Else the Job waits minutes before it makes new pods: the longer, the more failed.
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 10,
            "podReplacementPolicy": "TerminatingOrFailed",
            "template": {
                "metadata": {"labels": {**labels, "in": "job"}},
                "spec": {
                    "schedulerName": SCHEDULER,
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "nodeSelector": namespace.here,
                    "containers": [container],
                },
            },
        },
    }


def starts_whole(namespace: Namespace, before: set[str], pods: int = JOB_PODS) -> set[str]:
    """Wait until so many new pods run; return their uids."""

    def running() -> int:
        found = fresh(namespace, before)
        return sum(each["status"].get("phase") == "Running" for each in found)

    eventually(pods, running, JOB_SECONDS)
    return {each["metadata"]["uid"] for each in fresh(namespace, before)}


def partial_runs(watcher: controlplane.Watcher, runs: Sequence[set[str]]) -> list[str]:
    """Return the runs that the witness saw bound in part for long, before they were whole."""
    run_of = {uid: f"run {number}" for number, run in enumerate(runs, 1) for uid in run}
    history = [replace(event, gang=run_of.get(event.uid)) for event in watcher.history]
    sizes = {f"run {number}": len(run) for number, run in enumerate(runs, 1)}
    found = wholeness.violations(wholeness.spells(history, sizes), math.inf, SETTLE_SECONDS)
    return [str(each) for each in found if not each.was_complete]


def in_job(namespace: Namespace) -> list[Manifest]:
    return [
        p for p in namespace.every("pods") if p["metadata"].get("labels", {}).get("in") == "job"
    ]


def fresh(namespace: Namespace, before: set[str]) -> list[Manifest]:
    return [each for each in in_job(namespace) if each["metadata"]["uid"] not in before]


def uids(namespace: Namespace) -> set[str]:
    return {each["metadata"]["uid"] for each in in_job(namespace)}


def names(namespace: Namespace) -> list[str]:
    return [
        each["metadata"]["name"]
        for each in in_job(namespace)
        if each["status"].get("phase") not in ("Succeeded", "Failed")
    ]


def bound_of(pods: list[Manifest]) -> set[str]:
    return {each["metadata"]["name"] for each in pods if each["spec"].get("nodeName")}


def reasons(pods: list[Manifest]) -> set[str | None]:
    return {next((c.get("reason") for c in p["status"].get("conditions", [])), None) for p in pods}


def reason(namespace: Namespace, name: str) -> str | None:
    found: str | None = namespace.condition_of_pod(name).get("reason")
    return found


def counts(namespace: Namespace, name: str, *keys: str) -> tuple[int, ...]:
    status = namespace.status(name)
    return tuple(status.get(key, 0) for key in keys)


def members_of(namespace: Namespace, name: str) -> int | None:
    found: int | None = namespace.status(name).get("members")
    return found


def move(namespace: Namespace, name: str, to: str) -> None:
    def change(found: Manifest) -> None:
        found["metadata"]["labels"][GANG_LABEL] = to

    namespace.change_pod(name, change)
