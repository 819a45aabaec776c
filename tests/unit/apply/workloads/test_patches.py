"""What is patched into a workload that is started or suspended."""

import copy
from typing import Any

import pytest

from gang_scheduler.api.annotations import (
    ADMITTED_AT,
    ADMITTED_FROM,
    ADMITTED_TO,
    FLAVORS,
    QUEUE,
)
from gang_scheduler.apply.workloads import patches
from gang_scheduler.client.fake.cluster import merge
from gang_scheduler.model.suspended import Admission, ManagedWorkload, TemplateEdit

AT = "2026-01-02T03:04:05Z"
JOB = ManagedWorkload("Job", "ns", "train", "u1", "7")
PATH = ("spec", "template")
OF_OURS = {ADMITTED_AT, ADMITTED_FROM, ADMITTED_TO, QUEUE, FLAVORS}


def job(*, suspended: bool = True, **pod: Any) -> dict[str, Any]:
    metadata = {"name": "train", "uid": "u1", "resourceVersion": "7", "annotations": {"own": "x"}}
    return {"metadata": metadata, "spec": {"suspend": suspended, "template": {"spec": pod}}}


def patched(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    found: Any = merge(document, patch)
    return dict(found)


def started(document: dict[str, Any], *edits: TemplateEdit) -> dict[str, Any]:
    nodes = ("n1", "n2")
    admission = Admission(JOB, "team-a", (("cpu", "spot"),), edits, nodes)
    return patched(document, patches.starting_from(document, admission, AT))


def suspended(document: dict[str, Any], kind: str = "Job") -> dict[str, Any]:
    return patched(document, patches.suspending(document, kind))


def spot(value: str = "spot") -> TemplateEdit:
    return TemplateEdit(PATH, (("pool", value),))


def test_the_patch_of_a_workload_without_edits_needs_no_look_at_the_object() -> None:
    admission = Admission(JOB, "team-a", (("cpu", "spot"),), nodes=("n1", "n1", "n2"))

    found = patches.starting(admission, AT)

    notes = {ADMITTED_AT: AT, QUEUE: "team-a", FLAVORS: '{"cpu":"spot"}', ADMITTED_TO: "n1*2,n2"}
    assert {
        "metadata": {"uid": "u1", "resourceVersion": "7", "annotations": notes},
        "spec": {"suspend": False},
    } == found


def test_both_ways_make_the_same_of_a_workload_without_edits() -> None:
    admission = Admission(JOB, "team-a")

    short = patched(job(), patches.starting(admission, AT))

    assert short == patched(job(), patches.starting_from(job(), admission, AT))


@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob"])
def test_kubeflow_says_it_in_the_run_policy(kind: str) -> None:
    found = patches.starting(Admission(JOB._replace(kind=kind)), AT)

    assert {"runPolicy": {"suspend": False}} == found["spec"]


def test_flavors_go_into_the_template_in_the_same_patch() -> None:
    found = started(job(nodeSelector={"disk": "ssd"}), spot())

    assert found["spec"]["suspend"] is False
    assert {"disk": "ssd", "pool": "spot"} == found["spec"]["template"]["spec"]["nodeSelector"]
    assert {*OF_OURS, "own"} == set(found["metadata"]["annotations"])


def test_a_job_keeps_its_template_while_it_is_being_suspended() -> None:
    running = started(job(), spot())

    found = suspended(running)

    assert found["spec"]["suspend"] is True
    assert running["spec"]["template"] == found["spec"]["template"]
    assert {ADMITTED_FROM, "own"} == set(found["metadata"]["annotations"])


def test_other_kinds_are_then_as_their_user_wrote_them() -> None:
    found = suspended(started(job(), spot()), "JobSet")

    assert job()["spec"] == found["spec"]
    assert {"own": "x"} == found["metadata"]["annotations"]


def test_the_next_admission_takes_out_what_the_last_one_added() -> None:
    waiting = suspended(started(job(nodeSelector={"disk": "ssd"}), spot()))

    found = started(waiting, spot("on-demand"))

    assert {"disk": "ssd", "pool": "on-demand"} == found["spec"]["template"]["spec"]["nodeSelector"]


def test_an_admission_without_edits_leaves_nothing_of_the_last_one() -> None:
    waiting = suspended(started(job(), spot()))

    found = started(waiting)

    assert {} == found["spec"]["template"]["spec"]
    assert ADMITTED_FROM not in found["metadata"]["annotations"]


def test_every_patch_is_for_the_version_that_it_was_made_of() -> None:
    patch = patches.suspending(job(suspended=False), "Job")

    assert ("u1", "7") == (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"])


def test_patches_leave_what_they_are_made_of_alone() -> None:
    document = job(nodeSelector={"disk": "ssd"}, tolerations=[])
    before = copy.deepcopy(document)

    patches.starting_from(document, Admission(JOB, edits=(spot(),)), AT)
    patches.suspending(document, "JobSet")

    assert before == document


def test_only_what_we_started_is_managed() -> None:
    running = started(job())

    assert patches.is_managed(running, JOB)
    assert not patches.is_managed(running, JOB._replace(uid="another"))
    assert not patches.is_managed(job(suspended=False), JOB)
    assert not patches.is_managed(suspended(running), JOB)
    by_hand = patched(running, {"spec": {"suspend": True}})
    assert not patches.is_managed(by_hand, JOB)
