"""The try-form: what it accepts, and the objects that it makes of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page import trying
from gang_scheduler.page.trying import Form, Job
from gang_scheduler.settings.policy import Policy
from support import yaml_texts
from support.listed_clusters import node, written

WHOLE = Form(
    name="llama",
    namespace="team",
    command="torchrun --nnodes=4 'my train.py'",
    nodes="4",
    queue="blue",
    layer="SpineLayer",
    gather="prefer",
    priority="high",
    time="12h",
)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return files.read([written(tmp_path, [node("node-0")])], Policy())


def job(form: Form, cluster: Cluster) -> Job:
    """Return the job of a form that is right."""
    found, wrong = trying.job_of(form, cluster)
    assert {} == wrong
    assert found is not None
    return found


def test_each_field_is_in_the_objects(cluster: Cluster) -> None:
    pod_group, of_job = trying.manifests(job(WHOLE, cluster))

    metadata, spec = pod_group["metadata"], of_job["spec"]["template"]["spec"]
    assert ("llama", "team", {"minMember": 4}) == (
        *(metadata["name"], metadata["namespace"]),
        pod_group["spec"],
    )
    assert {"py-gang-scheduler.io/queue": "blue"} == metadata["labels"]
    (annotation,) = metadata["annotations"].values()
    assert '"SpineLayer", "strategy": "PreferGather"' in annotation
    assert (4, 4) == (of_job["spec"]["completions"], of_job["spec"]["parallelism"])
    assert ("high", 12 * 3600) == (spec["priorityClassName"], spec["activeDeadlineSeconds"])
    (container,) = spec["containers"]
    assert ["torchrun", "--nnodes=4", "my train.py"] == container["command"]
    assert {"limits": {"nvidia.com/gpu": "8"}} == container["resources"]


def test_fields_that_are_empty_are_left_out(cluster: Cluster) -> None:
    form = replace(Form(), gpus="0", command="", image="busybox")
    pod_group, of_job = trying.manifests(job(form, cluster))

    assert {"name", "namespace"} == set(pod_group["metadata"])
    assert {"schedulerName", "restartPolicy", "containers"} == set(
        of_job["spec"]["template"]["spec"]
    )
    assert [{"name": "main", "image": "busybox"}] == of_job["spec"]["template"]["spec"][
        "containers"
    ]


def test_the_file_is_read_back_as_it_was(cluster: Cluster) -> None:
    bodies = trying.manifests(job(WHOLE, cluster))

    assert bodies == list(yaml_texts.read_all(trying.as_yaml(bodies)))
    assert "kubectl gang explain llama -n team\n" in trying.as_commands(WHOLE)


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("name", "Llama", "name must be 1 to 52 lower case letters"),
        ("name", "", "name must be 1 to 52 lower case letters"),
        ("namespace", "a/b", "namespace must be 1 to 52 lower case letters"),
        ("nodes", "0", 'nodes must be 1 to 5000, not "0"'),
        ("nodes", "5001", "nodes must be 1 to 5000"),
        ("gpus", "-1", "gpus must be 0 to 1024"),
        ("image", "", "image must be the name of an image"),
        ("command", "echo 'x", "command must have its quotes closed"),
        ("time", "1 day", "time must be a time such as 90m, 12h or 2d"),
        ("queue", "a b", "queue must be a name"),
        ("gather", "maybe", "gather must be must or prefer"),
        ("image", "x" * 5000, "image must have at most 4096 characters"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(
    field: str, value: str, fault: str, cluster: Cluster
) -> None:
    found, wrong = trying.job_of(replace(WHOLE, **{field: value}), cluster)

    assert found is None
    assert [field] == list(wrong)
    assert wrong[field].startswith(fault)


def test_a_form_has_the_fields_of_its_address_and_defaults() -> None:
    found = trying.form_of({"nodes": " 4 ", "evil": "x"})

    assert replace(Form(), nodes="4") == found
