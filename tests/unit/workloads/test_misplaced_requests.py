"""Jobs and JobSets that ask for a gang where their pods do not get it from."""

from typing import Any

import pytest

from gang_scheduler.api.annotations import (
    GANG_MODE,
    GANG_NAME,
    JOB_GANG_LABEL,
    MIN_RUNTIME,
    NETWORK_TOPOLOGY_SPEC,
    POD_GROUP_LABEL,
    QUEUE,
)
from gang_scheduler.decode import fields
from gang_scheduler.wire.base import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.workloads import misplaced_requests

ASKED = {"labels": {JOB_GANG_LABEL: "true"}}
GANG = {"metadata": ASKED}
OF_POD_GROUP = {"metadata": {"labels": {POD_GROUP_LABEL: "g"}}}
NATIVE = {"spec": {"schedulingGroup": {"podGroupName": "g"}}}


def named(metadata: dict[str, Any]) -> Metadata:
    return fields.read({"name": "a", "namespace": "ns", **metadata}, Metadata)


def of_job(metadata: dict[str, Any], template: dict[str, Any]) -> str:
    found = misplaced_requests.of_job(named(metadata), fields.read(template, PodTemplate), ())
    return str(found.problem.cause) if found else ""


def of_job_set(metadata: dict[str, Any], *templates: dict[str, Any]) -> str:
    read = [fields.read(each, PodTemplate) for each in templates]
    found = misplaced_requests.of_job_set(named(metadata), read, ())
    return str(found.problem.cause) if found else ""


@pytest.mark.parametrize(
    ("metadata", "where"),
    [
        (ASKED, "metadata.labels[py-gang-scheduler.io/gang] belongs in {}.metadata.labels"),
        (
            {"annotations": {JOB_GANG_LABEL: "true"}},
            "metadata.annotations[py-gang-scheduler.io/gang] belongs in {}.metadata.labels",
        ),
        (
            {"annotations": {NETWORK_TOPOLOGY_SPEC: "{}"}},
            f"metadata.annotations[{NETWORK_TOPOLOGY_SPEC}] belongs in {{}}.metadata.annotations",
        ),
    ],
)
def test_what_is_misplaced_is_named_with_its_place(metadata: dict[str, Any], where: str) -> None:
    assert f"Job ns/a: {where.format('spec.template')}" in of_job(metadata, {})
    template = "spec.replicatedJobs[].template.spec.template"
    assert f"JobSet ns/a: {where.format(template)}" in of_job_set(metadata, {}, GANG)


def test_all_that_is_misplaced_is_said() -> None:
    said = of_job({**ASKED, "annotations": {NETWORK_TOPOLOGY_SPEC: "{}"}}, {})

    assert 2 == said.count("belongs in")


@pytest.mark.parametrize("template", [GANG, OF_POD_GROUP, NATIVE])
def test_pods_of_a_gang_were_asked_for_in_the_right_place(template: dict[str, Any]) -> None:
    assert "" == of_job(ASKED, template)
    assert "" == of_job_set(ASKED, template)


def test_a_wrong_value_that_was_copied_from_the_template_is_not_misplaced() -> None:
    wrong = {"labels": {JOB_GANG_LABEL: "yes"}}

    assert "" == of_job(wrong, {"metadata": wrong})
    assert "belongs in" in of_job(ASKED, {"metadata": wrong})


@pytest.mark.parametrize("metadata", [{}, {"labels": {JOB_GANG_LABEL: "false"}}])
def test_a_workload_that_asks_for_nothing_says_nothing(metadata: dict[str, Any]) -> None:
    assert "" == of_job(metadata, {})
    assert "" == of_job_set(metadata, {})


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"labels": {POD_GROUP_LABEL: "g"}}, "belongs in spec.template.metadata.labels"),
        ({"annotations": {POD_GROUP_LABEL: "g"}}, "belongs in spec.template.metadata.labels"),
        ({"annotations": {GANG_MODE: "Strict"}}, "belongs in spec.template.metadata.annotations"),
        ({"labels": {"py-gang-scheduler.io/gangs": "true"}}, f"did you mean {JOB_GANG_LABEL}?"),
        ({"labels": {f"{POD_GROUP_LABEL}/nam": "g"}}, f"did you mean {POD_GROUP_LABEL}/name?"),
        ({"annotations": {"pod-group-name": "g"}}, "is for KAI-Scheduler, and makes no gang here"),
        ({"annotations": {QUEUE: "a"}}, f"metadata.annotations[{QUEUE}] must be a label"),
    ],
)
def test_every_way_to_ask_is_heard(metadata: dict[str, Any], said: str) -> None:
    assert said in of_job(metadata, {})


@pytest.mark.parametrize("key", [POD_GROUP_LABEL, "pod-group-name"])
def test_another_name_of_a_gang_is_of_no_use_and_no_fault(key: str) -> None:
    assert "" == of_job({"labels": {key: "h"}, "annotations": {GANG_NAME: "h"}}, GANG)


@pytest.mark.parametrize("key", [GANG_MODE, MIN_RUNTIME])
def test_options_of_the_gang_of_a_job_belong_on_a_pod_group(key: str) -> None:
    by_pods = {"metadata": {"annotations": {GANG_NAME: "g"}}}
    said = "belongs on a PodGroup of scheduling.sigs.k8s.io"

    assert f"{key}] {said}" in of_job({"annotations": {key: "1m"}}, GANG)
    assert f"{key}] {said}" in of_job_set({"annotations": {key: "1m"}}, GANG)
    assert f"{key}] belongs in spec.template" in of_job({"annotations": {key: "1m"}}, by_pods)


def test_a_minimum_run_time_of_single_pods_is_no_fault() -> None:
    assert "" == of_job({"annotations": {MIN_RUNTIME: "1m"}}, {})


def test_how_a_gang_is_scheduled_is_misplaced_whatever_makes_it_one() -> None:
    assert GANG_MODE in of_job({"annotations": {GANG_MODE: "NonStrict"}}, GANG)
    assert GANG_MODE in of_job_set({"annotations": {GANG_MODE: "NonStrict"}}, GANG)
