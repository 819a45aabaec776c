"""What an API server refuses and drops, as `simulate` says it."""

import json

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.simulation.defaults import ALL
from gang_scheduler.simulation.validation import objects
from support import mistakes
from support.mistakes import DROPPED, EDITS, REFUSED, RIGHT, Edit
from tools.schemas import FILE


def said(body: mistakes.Body) -> tuple[str, str]:
    """Return what becomes of a manifest, and what is said of it."""
    try:
        unknown = objects.unknown_fields(body)
    except InvalidField as error:
        return REFUSED, str(error)
    return (DROPPED, "; ".join(unknown)) if unknown else (RIGHT, "")


@pytest.mark.parametrize("edit", EDITS, ids=lambda each: each.name)
def test_a_manifest_is_right_refused_or_loses_a_field(edit: Edit) -> None:
    verdict, words = said(edit.manifest)

    assert edit.verdict == verdict, words
    assert edit.at in words


@pytest.mark.parametrize("body", mistakes.whole(), ids=lambda each: each["kind"])
def test_a_manifest_with_most_of_its_fields_is_right(body: mistakes.Body) -> None:
    assert (RIGHT, "") == said(body)


def test_every_kind_of_kubernetes_own_has_a_schema() -> None:
    """`make schemas` writes those of a kind that is read since."""
    versions = {"v1", "apps/v1", "batch/v1", "policy/v1"}
    versions |= {f"{name}.k8s.io/v1" for name in ("resource", "scheduling", "storage")}
    read = {(gvr.api_version, each.kind) for each in ALL for gvr in each.versions}
    own = {f"{version} {kind}" for version, kind in read if version in versions}

    assert own <= json.loads(FILE.read_text())["kinds"].keys()


def test_all_that_is_wrong_is_said_at_once() -> None:
    spec = {"parallelism": "2", "suspend": "no", "template": {"spec": {"containers": 1}}}
    _, words = said({**mistakes.JOB, "spec": spec})

    assert {"spec.parallelism", "spec.suspend", "spec.template.spec.containers"} == {
        each.split(" must ")[0] for each in words.split("; ")
    }


def test_a_kind_of_others_is_not_looked_at() -> None:
    body = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "spec": {"x": 1}}

    assert not objects.is_known(body)
    assert (RIGHT, "") == said(body)


@pytest.mark.parametrize("field", ["queue", "minmember", "minMembers", "min_member", "members"])
@pytest.mark.parametrize("group", ["scheduling.sigs.k8s.io", "scheduling.x-k8s.io"])
def test_a_podgroup_has_no_such_field(group: str, field: str) -> None:
    body = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2, field: 2},
    }

    verdict, words = said(body)

    assert DROPPED == verdict
    assert f"unknown field spec.{field}" in words


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"quota": {"nvidia.com/gpu": 8}}, "spec.quota.nvidia.com/gpu"),
        ({"quota": {"cpu": 8}}, "spec.quota.cpu"),
        ({"soft": {"cpu": 8}}, "spec.soft"),
        ({"hard": {"cpu": 8}}, "spec.hard"),
        ({"nvidia.com/gpu": 8}, "spec.nvidia.com/gpu"),
        ({"borrow": True}, "spec.borrow (did you mean borrowing?)"),
        ({"quota": {"Soft": {"cpu": 8}}}, "spec.quota.Soft (did you mean soft?)"),
        ({"quota": {"softs": {"cpu": 8}}}, "spec.quota.softs (did you mean soft?)"),
        ({"quotas": {"soft": {"cpu": 8}}}, "spec.quotas (did you mean quota?)"),
        ({"quota": {"max": {"cpu": 8}}}, "spec.quota.max"),
    ],
)
def test_a_queue_with_its_quota_in_the_wrong_place(spec: mistakes.Body, field: str) -> None:
    body = {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": spec,
    }

    assert (DROPPED, f"unknown field {field}") == said(body)


def test_a_limit_that_a_limit_range_may_set_is_reported_for_pods_only() -> None:
    asked = {"requests": {"nvidia.com/gpu": 8, "cpu": 1}}
    pod = mistakes.edited(mistakes.POD, "spec.containers.0.resources", asked)

    assert (RIGHT, "") == said(pod)
    assert {"nvidia.com/gpu"} == objects.without_limits(pod)
