"""The admission policies of the chart, on the API server: what they let through, and what not."""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from e2e.support import manifests
from e2e.support.admission_policies import rendered
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.queues import QUEUE
from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import access

pytestmark = pytest.mark.e2e

PREFIX = "py-gang-scheduler.io"
ADMITTED = f"{PREFIX}/admitted-at"
ACCOUNT = "system:serviceaccount:gang-system:py-gang-scheduler"


@pytest.fixture
def guarded(plane: controlplane.ControlPlane, namespace: Namespace) -> Iterator[Namespace]:
    """Give a namespace of which the chart's policies look after the Jobs, and no other's."""
    made = rendered(plane, namespace.name, "Job")
    applied = ("apply", "--server-side", "--filename=-")
    plane.kubectl(*applied, input=made)
    # The API server compiles policies in its own time.
    until(lambda: is_refused(namespace, job("probe", queue="")))
    until(lambda: dry_run(namespace, job("probe"))["spec"]["suspend"])
    yield namespace
    plane.kubectl("delete", "--filename=-", input=made)


def job(name: str, queue: str = "team-a", **labels: str) -> Manifest:
    """Return a Job for our scheduler; "" names no queue."""
    named = {QUEUE: queue} if queue else {}
    template = {"spec": {**manifests.pod("any")["spec"], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {**named, **labels}},
        "spec": {"parallelism": 2, "template": template},
    }


def dry_run(namespace: Namespace, body: Manifest) -> dict[str, Any]:
    """Return what the API server would make of a new Job."""
    path = f"/apis/batch/v1/namespaces/{namespace.name}/jobs?dryRun=All"
    answer: dict[str, Any] = namespace.cluster.request("POST", path, body)
    return answer


def is_refused(namespace: Namespace, body: Manifest) -> str:
    """Return why the API server would not have a new Job; "" if it would."""
    try:
        dry_run(namespace, body)
    except access.RefusedError as error:
        return str(error)
    return ""


def patched(
    namespace: Namespace, patch: dict[str, Any], *, user: str = "", of: str = "job/train"
) -> str:
    """Patch the Job or another object, maybe as a user; return why that is refused, else ""."""
    acting = [f"--as={user}", "--as-group=system:masters"] if user else []
    try:
        namespace.cluster.kubectl(
            *("patch", of, f"--namespace={namespace.name}", "--type=merge"),
            *(f"--patch={json.dumps(patch)}", *acting),
        )
    except controlplane.ControlPlaneError as error:
        return str(error)
    return ""


def test_a_job_that_names_a_queue_is_suspended_on_creation(guarded: Namespace) -> None:
    assert dry_run(guarded, job("train"))["spec"]["suspend"] is True


def test_what_is_for_another_scheduler_is_left_alone(guarded: Namespace) -> None:
    theirs = job("theirs", queue="")
    theirs["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler"

    assert dry_run(guarded, theirs)["spec"]["suspend"] is False


def test_the_part_of_a_larger_workload_needs_no_queue_and_is_not_suspended(
    guarded: Namespace,
) -> None:
    part = job("part", queue="")
    owner = {"apiVersion": "v1", "kind": "Whole", "name": "w", "uid": "u", "controller": True}
    part["metadata"]["ownerReferences"] = [owner]
    of_cron = job("of-cron", queue="")
    of_cron["metadata"]["ownerReferences"] = [owner | {"kind": "CronJob"}]

    assert dry_run(guarded, part)["spec"]["suspend"] is False
    assert "a queue must be named" in is_refused(guarded, of_cron)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (job("train", queue=""), f"a queue must be named: label {QUEUE}"),
        (job("train", **{f"{PREFIX}/qeue": "a"}), f"unknown label {PREFIX}/qeue"),
    ],
)
def test_what_cannot_be_meant_is_refused(guarded: Namespace, body: Manifest, words: str) -> None:
    assert words in is_refused(guarded, body)


@pytest.mark.parametrize("key", ["kueue.x-k8s.io/queue-name", "volcano.sh/queue-name"])
def test_queues_of_other_products_count(guarded: Namespace, key: str) -> None:
    assert is_refused(guarded, job("train", queue="", **{key: "q"})) == ""


def test_only_what_waits_may_go_to_another_queue(guarded: Namespace) -> None:
    moved = {"metadata": {"labels": {QUEUE: "team-b"}}}
    guarded.create(job("train"))

    assert patched(guarded, moved) == ""
    assert patched(guarded, {"spec": {"suspend": False}}) == ""
    for each in ({QUEUE: "team-c"}, {"volcano.sh/queue-name": "c"}):
        assert "cannot be changed" in patched(guarded, {"metadata": {"labels": each}})
    assert patched(guarded, {"metadata": {"labels": {"mine": "x"}}}) == ""


def test_what_was_admitted_is_said_by_the_scheduler_and_taken_back_by_anybody(
    guarded: Namespace,
) -> None:
    admission = {"metadata": {"annotations": {ADMITTED: "2026-01-02T03:04:05Z"}}}
    later = {"metadata": {"annotations": {ADMITTED: "2027-01-02T03:04:05Z"}}}
    guarded.create(job("train"))

    assert "by the scheduler alone" in patched(guarded, admission)
    assert patched(guarded, admission, user=ACCOUNT) == ""
    assert "by the scheduler alone" in patched(guarded, later)
    assert patched(guarded, {"metadata": {"annotations": {ADMITTED: None}}}) == ""


def test_what_a_binding_says_is_said_by_the_scheduler_alone(guarded: Namespace) -> None:
    """Else a tenant could move what it uses to the queue of another, or make a gang seem whole."""
    until(lambda: refusal_of_pod(guarded, {f"{PREFIX}/plan-id": "x"}))
    for key in (f"{PREFIX}/queue", f"{PREFIX}/checkpoint-requested-at"):
        assert f"by the scheduler alone: annotation {key}" in refusal_of_pod(guarded, {key: "x"})
    assert refusal_of_pod(guarded, {"mine": "x", f"{PREFIX}/checkpoint": "Signal"}) == ""

    guarded.create(manifests.pod("p"))
    charged = {QUEUE: "team-a"}
    assert annotated(guarded, charged, user=ACCOUNT) == ""
    assert "by the scheduler alone" in annotated(guarded, {QUEUE: "team-b"})
    assert "by the scheduler alone" in annotated(guarded, {QUEUE: None})
    assert annotated(guarded, {"mine": "y"}) == ""


def refusal_of_pod(namespace: Namespace, annotations: Mapping[str, str]) -> str:
    """Return why the API server would not have a pod with these; "" if it would."""
    body = manifests.pod("probe")
    body["metadata"]["annotations"] = dict(annotations)
    path = f"/api/v1/namespaces/{namespace.name}/pods?dryRun=All"
    try:
        namespace.cluster.request("POST", path, body)
    except access.RefusedError as error:
        return str(error)
    return ""


def annotated(
    namespace: Namespace, annotations: Mapping[str, str | None], *, user: str = ""
) -> str:
    """Annotate the pod, as a user if one is named; return why that is refused, "" if it is not."""
    return patched(namespace, {"metadata": {"annotations": annotations}}, user=user, of="pod/p")


def is_checked(plane: controlplane.ControlPlane, policy: str) -> bool:
    """Return whether the API server has said what it thinks of the types in a policy."""
    return "typeChecking" in plane.request("GET", policy).get("status", {})


@pytest.mark.usefixtures("guarded")
def test_the_policies_are_right_in_the_eyes_of_the_api_server(
    plane: controlplane.ControlPlane,
) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    for kind in ("jobs", "pods"):
        name = f"{path}/{kind}.py-gang-scheduler.gang-system"

        # An empty answer is one, too: nothing to warn of.
        until(functools.partial(is_checked, plane, name))
        checked = plane.request("GET", name)["status"]["typeChecking"]
        assert [] == checked.get("expressionWarnings", [])
