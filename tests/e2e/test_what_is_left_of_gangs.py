"""Gangs of which something has ended, terminates or was refused: what is left starts right."""

from typing import Any

import pytest

from e2e.support.failed_nodes import delete_gently
from e2e.support.gang_manifests import PREFIX, annotated, create, job
from e2e.support.manifests import GANG_LABEL, Manifest, members, pod, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, gang, queue
from e2e.support.waiting import TIMEOUT_SECONDS, eventually, until
from gang_scheduler.state.terminating import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


def test_a_gang_is_as_large_as_its_living_members_say(namespace: Namespace) -> None:
    namespace.own_nodes(2, kubelets=False)
    old = annotated("old", 2, on=namespace.here, terminationGracePeriodSeconds=600)
    namespace.create(*map(of_etl, old))
    eventually(2, lambda: len(namespace.bound("old-")))
    delete_gently(namespace, "old-0", "old-1")
    new = [of_etl(each) for each in annotated("new", 4, on=namespace.here)]
    namespace.create(*new[:3])

    eventually({"WaitingForMembers"}, lambda: reasons(namespace, "new-0", "new-1", "new-2"))
    assert {} == namespace.bound("new-")

    namespace.create(new[3])
    eventually(4, lambda: len(namespace.bound("new-")))


def test_what_is_left_of_jobs_starts_again_when_one_is_complete(namespace: Namespace) -> None:
    namespace.own_nodes(3, cpu=1)
    namespace.create(pod_group("g", 3))
    member = {GANG_LABEL: "g"}
    create(namespace, job("done", 1, member, on=namespace.here))
    create(namespace, job("lost", 2, member, on=namespace.here))
    eventually(3, lambda: len(namespace.bound()))
    before = set(namespace.bound())
    (done,) = namespace.bound("done-")
    namespace.set_phase(done, "Succeeded")
    until(lambda: namespace.get("jobs", "done")["status"].get("succeeded"))

    namespace.delete("pods", *namespace.bound("lost-"))
    until(lambda: len(living := namespace.bound("lost-")) == 2 and before.isdisjoint(living))
    eventually("Running", lambda: namespace.phase("g"))


def test_a_member_that_hangs_is_replaced_in_a_full_queue(
    namespace: Namespace, objects: Objects
) -> None:
    namespace.own_nodes(3, cpu=1, kubelets=False)
    objects.create_and_wait(queue("full", quota={"hard": {"cpu": "2"}}))
    fields: dict[str, Any] = {"on": namespace.here, "terminationGracePeriodSeconds": 1}
    namespace.create(*gang("ring", 2, "full", **fields))
    eventually(2, lambda: len(namespace.bound("ring-")))

    delete_gently(namespace, "ring-1")
    namespace.create(*members("ring", 1, first=2, **fields))

    until(lambda: namespace.node_of("ring-2"), PATIENCE_SECONDS + TIMEOUT_SECONDS)
    assert {"ring-0", "ring-1", "ring-2"} == set(namespace.bound("ring-"))


def test_a_pod_that_a_kubelet_has_refused_goes_to_another_node(namespace: Namespace) -> None:
    namespace.own_nodes(2, cpu=8, kubelets=False)
    namespace.create(pod("old", cpu=4, on=namespace.here))
    until(lambda: namespace.node_of("old"))
    refusing = namespace.node_of("old")
    refusal = {"phase": "Failed", "reason": "TopologyAffinityError"}
    namespace.change_pod("old", lambda found: found["status"].update(refusal), "status")
    until(lambda: namespace.notes("old", "KubeletRefused"))

    namespace.create(pod("new", cpu=4, on=namespace.here))

    assert refusing != until(lambda: namespace.node_of("new"))


def of_etl(pod: Manifest) -> Manifest:
    """Return a pod of an annotation gang as one of the gang etl."""
    pod["metadata"]["annotations"][f"{PREFIX}/name"] = "etl"
    return pod


def reasons(namespace: Namespace, *pods: str) -> set[str]:
    """Return why pods wait."""
    return {namespace.condition_of_pod(each).get("reason", "") for each in pods}
