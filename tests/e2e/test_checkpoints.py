"""A gang saves its work before it makes room, and goes on from there when it is bound again.

The nodes have no kubelets: an evicted pod is gone when the test says so. What a job would write is
written with the rights of the chart's role for jobs, and no others.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.support import chart_objects, gang_manifests, manifests, operator_health, preemption
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.preemption import LOW, evicted, high, let_go, marked
from e2e.support.queues import QUEUE, Objects, queue, reason
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PREFIX = "py-gang-scheduler.io/"
REQUESTED_AT, REQUEST_ID = f"{PREFIX}checkpoint-requested-at", f"{PREFIX}checkpoint-request-id"
MEMBERS = {"train-0", "train-1"}
ACCOUNT = "trainer"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, with priorities and the chart's role for jobs."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        started.request("POST", f"{RBAC}/clusterroles", chart_objects.cluster_role("checkpointer"))
        with preemption.priority_classes(started):
            yield started


@pytest.fixture
def operator(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    """Give an operator of the test's own, which may kill it."""
    with controlplane.Scheduler(plane, "--checkpoint-annotations") as started:
        yield started
        assert [] == operator_health.take_tracebacks(started)


@pytest.fixture
def namespace(
    plane: controlplane.ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Namespace]:
    """Give a namespace in which jobs have the chart's role."""
    with Namespace(plane, request.node.name) as made:
        binding = {
            "metadata": {"name": ACCOUNT},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": chart_objects.cluster_role("checkpointer")["metadata"]["name"],
            },
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": made.name}],
        }
        plane.request("POST", f"{RBAC}/namespaces/{made.name}/rolebindings", binding)
        yield made


def test_a_gang_answers_is_evicted_and_goes_on_from_its_checkpoint(
    namespace: Namespace, operator: controlplane.Scheduler
) -> None:
    runs(namespace, timeout="5m")
    namespace.create(*high("urgent", 2, cpu=2, on=namespace.here))
    (request_id,) = asked(namespace)
    eventually("WaitingForCheckpoint", lambda: reason(namespace, "urgent"))
    eventually("WaitingForCheckpoint", lambda: reason(namespace, "urgent", "Preempting"))
    eventually(request_id, lambda: checkpoint(namespace).get("requestId"))
    assert set() == marked(namespace) | evicted(namespace)

    job_writes(
        namespace,
        *("pod", "train-1"),
        {"done-at": now(), "request-id": request_id, "step": "1200", "path": "s3://b/1200"},
    )

    eventually(MEMBERS, lambda: evicted(namespace))
    found = checkpoint(namespace)
    assert {"outcome": "Saved", "step": 1200, "path": "s3://b/1200"}.items() <= found.items()
    (listed,) = namespace.status("train")["checkpoints"]
    assert (found["doneAt"], request_id) == (listed["doneAt"], listed["requestId"])
    let_go(namespace, MEMBERS)
    eventually(2, lambda: len(namespace.bound("urgent-")))
    namespace.delete_gangs("urgent")
    namespace.create(*manifests.members("train", 2, first=2, cpu=2, **low(namespace)))

    eventually(2, lambda: len(namespace.bound("train-")))
    resumed = {f"{PREFIX}resume-{k}": v for k, v in RESUMED.items()}
    for name in ("train-2", "train-3"):
        assert resumed.items() <= annotations(namespace, name).items()
    eventually(1, lambda: checkpoint(namespace).get("resumeCount"))
    (asked_for,) = until(partial(namespace.notes, "train", "CheckpointRequested"))
    assert f"{namespace.name}/urgent" in asked_for
    (saved,) = until(partial(namespace.notes, "train", "CheckpointSaved"))
    assert "s3://b/1200" in saved
    assert 1 == operator.metric("training_checkpoint_saves_total")


RESUMED = {"path": "s3://b/1200", "step": "1200", "count": "1"}


def test_a_gang_that_does_not_answer_in_time_is_evicted_all_the_same(namespace: Namespace) -> None:
    runs(namespace, timeout="1s")
    namespace.create(*high("urgent", 2, cpu=2, on=namespace.here))

    eventually(MEMBERS, lambda: evicted(namespace))
    assert "TimedOut" == checkpoint(namespace)["outcome"]
    assert "doneAt" not in checkpoint(namespace)
    until(partial(namespace.notes, "train", "CheckpointTimedOut"))
    let_go(namespace, MEMBERS)
    eventually(2, lambda: len(namespace.bound("urgent-")))


def test_a_request_is_withdrawn_when_its_plan_is_void(namespace: Namespace) -> None:
    runs(namespace, timeout="5m")
    namespace.create(*high("urgent", 2, cpu=2, on=namespace.here))
    asked(namespace)

    namespace.delete_gangs("urgent")

    eventually(set(), lambda: requests(namespace))
    eventually({}, lambda: checkpoint(namespace))
    assert set() == marked(namespace) | evicted(namespace)
    assert 2 == len(namespace.bound("train-"))


def test_the_next_operator_goes_on_where_the_last_one_was_killed(
    namespace: Namespace, operator: controlplane.Scheduler
) -> None:
    runs(namespace, timeout="5m")
    namespace.create(*high("urgent", 2, cpu=2, on=namespace.here))
    ids = asked(namespace)
    operator.kill()
    operator.start()
    eventually("WaitingForCheckpoint", lambda: reason(namespace, "urgent"))
    assert ids == requests(namespace)

    (request_id,) = ids
    answer = {"done-at": now(), "request-id": request_id}
    job_writes(namespace, "podgroup.scheduling.sigs.k8s.io", "train", answer)

    eventually(MEMBERS, lambda: evicted(namespace))
    assert "Saved" == checkpoint(namespace)["outcome"]


def test_a_gang_that_saves_on_sigterm_has_the_time_of_its_queue(
    namespace: Namespace, objects: Objects
) -> None:
    longer = {"gracePeriod": "2m"}
    objects.create_and_wait(queue("root"))
    objects.create_and_wait(queue("team", 4, preemption=longer))
    runs(namespace, mode="Signal", grace=60, in_queue="team")
    urgent, *members = high("urgent", 2, cpu=2, on=namespace.here)
    urgent["metadata"]["labels"] = {QUEUE: "team"}
    namespace.create(urgent, *members)
    eventually(MEMBERS, lambda: evicted(namespace))
    seconds = {
        namespace.get("pods", name)["metadata"]["deletionGracePeriodSeconds"] for name in MEMBERS
    }
    assert {120} == seconds

    left = json.dumps({"checkpoint": {"step": 7, "path": "s3://b/7"}})
    ended = {"exitCode": 0, "finishedAt": now(), "message": left}

    def end(found: Manifest) -> None:
        container = {"name": "main", "image": "none", "imageID": "none", "ready": False}
        state = {"terminated": ended}
        found["status"]["containerStatuses"] = [{**container, "restartCount": 0, "state": state}]

    namespace.change_pod("train-0", end, "status")

    eventually((7, "s3://b/7"), lambda: tuple(map(checkpoint(namespace).get, ("step", "path"))))


def test_a_job_that_is_created_again_begins_anew(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=4, kubelets=False)
    namespace.create(manifests.pod_group("train", 2))
    labels = {manifests.GANG_LABEL: "train"}
    job = gang_manifests.job("train", 2, labels, on=namespace.here)
    gang_manifests.create(namespace, job)
    eventually(2, lambda: len(namespace.bound("train-")))
    first = min(namespace.bound("train-"))
    before = namespace.get("jobs", "train")["metadata"]["uid"]
    job_writes(namespace, "pod", first, {"done-at": now(), "step": "60", "path": "s3://b/60"})
    eventually(before, lambda: checkpoint(namespace).get("workloadUid"))

    # A pod that is lost comes again, and goes on.
    namespace.delete("pods", first)
    until(lambda: first not in namespace.bound("train-"))
    eventually(2, lambda: len(namespace.bound("train-")))
    assert {None, "60"} == resumed_at(namespace)

    path = gang_manifests.path(namespace, job, "train")
    namespace.cluster.request("DELETE", path, {"propagationPolicy": "Background"})
    until(lambda: not namespace.bound("train-"))
    gang_manifests.create(namespace, job)
    eventually(2, lambda: len(namespace.bound("train-")))

    assert before != namespace.get("jobs", "train")["metadata"]["uid"]
    assert {None} == resumed_at(namespace)


def resumed_at(namespace: Namespace) -> set[str | None]:
    """Return the steps that the pods go on from."""
    found = (annotations(namespace, name) for name in namespace.bound("train-"))
    return {each.get(f"{PREFIX}resume-step") for each in found}


def runs(
    namespace: Namespace,
    *,
    mode: str = "Annotation",
    timeout: str = "",
    grace: int = preemption.GRACE_SECONDS,
    in_queue: str = "",
) -> None:
    """Let a gang run that fills the only node, and says how it saves its work."""
    namespace.own_nodes(1, cpu=4, kubelets=False)
    group, *members = manifests.gang("train", 2, cpu=2, **low(namespace, grace))
    said = {f"{PREFIX}checkpoint": mode}
    group["metadata"]["annotations"] = {
        **said,
        **({f"{PREFIX}checkpoint-timeout": timeout} if timeout else {}),
    }
    group["metadata"]["labels"] = {QUEUE: in_queue} if in_queue else {}
    namespace.create(group, *members)
    eventually(2, lambda: len(namespace.bound("train-")))
    for name in MEMBERS:
        namespace.set_phase(name, "Running")


def low(namespace: Namespace, grace: int = preemption.GRACE_SECONDS) -> dict[str, Any]:
    """Return fields of pods of low priority, which take their time to end."""
    return {
        "on": namespace.here,
        "priorityClassName": LOW,
        "terminationGracePeriodSeconds": grace,
    }


def asked(namespace: Namespace) -> set[str]:
    """Wait until all members are asked; return the id of the request."""
    until(lambda: all(REQUESTED_AT in annotations(namespace, name) for name in MEMBERS))
    return requests(namespace)


def requests(namespace: Namespace) -> set[str]:
    """Return the ids of the requests that stand."""
    found = (annotations(namespace, name).get(REQUEST_ID) for name in MEMBERS)
    return {each for each in found if each is not None}


def annotations(namespace: Namespace, pod: str) -> dict[str, str]:
    """Return the annotations of a pod."""
    found: dict[str, str] = namespace.get("pods", pod)["metadata"].get("annotations", {})
    return found


def checkpoint(namespace: Namespace) -> dict[str, Any]:
    """Return what the PodGroup says of its last checkpoint."""
    found: dict[str, Any] = namespace.status("train").get("checkpoint", {})
    return found


def job_writes(namespace: Namespace, kind: str, name: str, said: dict[str, str]) -> None:
    """Write annotations as the ServiceAccount of the job."""
    texts = [f"{PREFIX}checkpoint-{key}={value}" for key, value in said.items()]
    account = f"--as=system:serviceaccount:{namespace.name}:{ACCOUNT}"
    namespace.kubectl(account, "annotate", "--overwrite", kind, name, *texts)


def now() -> str:
    """Return the time as it is written in objects."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
