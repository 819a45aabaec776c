"""A gang whose controller creates evicted pods again goes whole, waits whole, and starts whole."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from e2e.support import gang_manifests, manifests, preemption
from e2e.support.gang_watcher import GangWatcher
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import high, name_of
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.demo import examples

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

PODS = 20
JOB_SECONDS = 60.0
(FIRST,) = examples.EXAMPLES.glob("01-*")
(RACK_NEIGHBOURS,) = examples.EXAMPLES.glob("17-*")


@pytest.fixture(scope="module", autouse=True)
def priorities(plane: controlplane.ControlPlane) -> Iterator[None]:
    with preemption.priority_classes(plane):
        yield


def test_a_job_that_ignores_disruptions_waits_whole_until_its_preemptor_has_gone(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(4, cpu=PODS // 4)
    namespace.create(job(namespace))
    first = starts_whole(namespace, set())

    with GangWatcher(namespace.cluster, namespace.name) as watcher:
        namespace.create(*high("a", 1, cpu=2, on=namespace.here))
        eventually(1, lambda: len(namespace.bound("a-")))
        eventually(PODS, lambda: len(fresh(namespace, "job", first)), JOB_SECONDS)
        (note,) = until(partial(namespace.notes, "job", "Preempted"))
        assert note.startswith(f"Preempted by {namespace.name}/a: {PODS} members: ")
        again = fresh(namespace, "job", first)
        eventually({"Unschedulable"}, lambda: reasons(namespace, again))
        assert [] == bound(fresh(namespace, "job", first))
        assert 0 == namespace.get("jobs", "job")["status"].get("failed", 0)
        assert first == {event.uid for event in watcher.history if event.deleting}

        namespace.delete_gangs("a")

        starts_whole(namespace, first)
        assert [] == watcher.partial_gangs({"job": PODS})


def test_a_job_that_evictions_end_gets_an_event_goes_last_and_ends_with_its_gang(
    namespace: Namespace,
) -> None:
    namespace.own_nodes(2, cpu=8)
    members = {"pod-group.scheduling.sigs.k8s.io": "frail"}
    unprotected = gang_manifests.job("frail", 8, members, **on(namespace))
    namespace.create(manifests.pod_group("frail", 8), unprotected)
    (note,) = until(partial(namespace.notes, "frail", "UnprotectedJob"))
    assert "its 8 pods fail together, and more than 6 failures end it" in note
    eventually(8, lambda: len(bound(fresh(namespace, "frail", set()))))
    tough = gang_manifests.job("tough", 8, **on(namespace))
    tough["spec"]["podFailurePolicy"] = {"rules": [gang_manifests.IGNORES_DISRUPTIONS]}
    namespace.create(tough)
    eventually(8, lambda: len(bound(fresh(namespace, "tough", set()))), JOB_SECONDS)

    # The other has done less work by now.
    namespace.create(*high("a", 1, cpu=8, on=namespace.here))
    eventually(1, lambda: len(namespace.bound("a-")))
    assert 8 == len(bound(fresh(namespace, "frail", set())))

    namespace.create(*high("b", 1, cpu=8, on=namespace.here))

    scheduled = partial(namespace.condition_of_gang, "frail", "Scheduled")
    eventually("JobFailed", lambda: scheduled().get("reason"), JOB_SECONDS)
    assert "Failed" == namespace.phase("frail")
    conditions = namespace.get("jobs", "frail")["status"]["conditions"]
    why = {each["type"]: each["reason"] for each in conditions}
    assert "BackoffLimitExceeded" == why["Failed"]


@pytest.mark.parametrize("ignored", [True, False], ids=["as-the-example", "without-its-rule"])
def test_ranks_that_end_since_one_was_evicted_count_as_failed_without_the_rule_for_143(
    namespace: Namespace, *, ignored: bool
) -> None:
    namespace.own_nodes(1, cpu=8, kubelets=False)
    (document,) = (
        each
        for each in yaml.safe_load_all((FIRST / "gang.yaml").read_text())
        if each["kind"] == "Job"
    )
    rules = document["spec"]["podFailurePolicy"]["rules"]
    (of_exit_codes,) = (each for each in rules if "onExitCodes" in each)
    made = gang_manifests.job("ranks", 4, **on(namespace), terminationGracePeriodSeconds=0)
    made["spec"]["completionMode"] = "Indexed"
    made["spec"]["backoffLimitPerIndex"] = document["spec"]["backoffLimitPerIndex"]
    kept = [each for each in rules if ignored or each is not of_exit_codes]
    made["spec"]["podFailurePolicy"] = {"rules": kept}
    namespace.create(made)
    eventually(4, lambda: len(bound(fresh(namespace, "ranks", set()))))
    first = sorted(fresh(namespace, "ranks", set()), key=name_of)
    for each in first:
        namespace.set_phase(name_of(each), "Running")

    lost, *others = map(name_of, first)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": lost}}
    namespace.cluster.request("POST", f"{namespace.path('pods')}/{lost}/eviction", eviction)
    for name in (lost, *others):
        namespace.change_pod(name, ends_with_143, "status")

    eventually(4, lambda: len(bound(fresh(namespace, "ranks", uids(first)))), JOB_SECONDS)
    counts = [each["metadata"]["annotations"] for each in fresh(namespace, "ranks", uids(first))]
    failures = [int(each["batch.kubernetes.io/job-index-failure-count"]) for each in counts]
    assert (0 if ignored else 3) == sum(failures)


def test_the_example_of_two_gangs_in_a_rack_step_by_step(namespace: Namespace) -> None:
    rack = {"cloud.provider.com/topology-rack": "rack-1"}
    namespace.own_nodes(2, cpu=8, labels=rack)
    low, urgent = examples.manifests(RACK_NEIGHBOURS)
    namespace.kubectl("apply", f"--filename={low}")
    eventually("Running", lambda: namespace.phase("tuning"))
    first = uids(namespace.every("pods"))

    try:
        namespace.kubectl("apply", f"--filename={urgent}")

        eventually("Running", lambda: namespace.phase("release"))
        eventually("True", lambda: namespace.condition_of_gang("tuning", "Preempted")["status"])
        by = namespace.condition_of_gang("tuning", "Preempted")["message"]
        assert by.endswith(f"{namespace.name}/release")
        eventually(4, lambda: len(fresh(namespace, "tuning", first)), JOB_SECONDS)
        scheduled = partial(namespace.condition_of_gang, "tuning", "Scheduled")
        eventually("Unschedulable", lambda: scheduled().get("reason"))
        assert [] == bound(fresh(namespace, "tuning", first))
        namespace.kubectl("delete", f"--filename={urgent}")
        eventually("Running", lambda: namespace.phase("tuning"))
        assert 4 == len(bound(fresh(namespace, "tuning", first)))
        eventually("False", lambda: namespace.condition_of_gang("tuning", "Preempted")["status"])
    finally:
        for each in (low, urgent):
            namespace.kubectl("delete", "--ignore-not-found", f"--filename={each}")


def ends_with_143(pod: Manifest) -> None:
    """Write what a kubelet writes of a process that SIGTERM has ended."""
    ended = {"terminated": {"exitCode": 143, "reason": "Error"}}
    name = pod["spec"]["containers"][0]["name"]
    pod["status"] |= {
        "phase": "Failed",
        "containerStatuses": [
            {
                "name": name,
                "image": "none",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": ended,
            }
        ],
    }


def on(namespace: Namespace) -> dict[str, Any]:
    """Return what pods of low priority on the nodes of a test ask for."""
    return {"priorityClassName": preemption.LOW, "on": namespace.here}


def job(namespace: Namespace) -> Manifest:
    """Return a Job of low priority whose pods are one gang, and which evictions never end."""
    return gang_manifests.evictable_job("job", PODS, **on(namespace))


def starts_whole(namespace: Namespace, before: set[str]) -> set[str]:
    """Wait until all pods of a new attempt are bound; return their uids."""
    eventually(PODS, lambda: len(bound(fresh(namespace, "job", before))), JOB_SECONDS)
    return uids(fresh(namespace, "job", before))


def fresh(namespace: Namespace, prefix: str, before: set[str]) -> list[Manifest]:
    """Return the pods with this beginning of their name that were not there before."""
    pods = (each for each in namespace.every("pods") if name_of(each).startswith(f"{prefix}-"))
    return [each for each in pods if each["metadata"]["uid"] not in before]


def uids(pods: list[Manifest]) -> set[str]:
    return {each["metadata"]["uid"] for each in pods}


def bound(pods: list[Manifest]) -> list[Manifest]:
    return [each for each in pods if "nodeName" in each["spec"]]


def reasons(namespace: Namespace, pods: list[Manifest]) -> set[str | None]:
    return {namespace.condition_of_pod(name_of(each)).get("reason") for each in pods}
