"""The try-form: what it accepts, and the objects that it makes of it."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.page import job_form
from gang_scheduler.page.job_form import Form, Tried
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


def found(form: Form, cluster: Cluster) -> Tried:
    """Return the job of a form that is right."""
    tried, wrong = job_form.tried(form, cluster)
    assert {} == wrong
    assert tried is not None
    return tried


def test_each_field_is_in_the_objects(cluster: Cluster) -> None:
    of_job, _, pod_group = yaml_texts.read_all(found(WHOLE, cluster).text)

    metadata, spec = pod_group["metadata"], of_job["spec"]["template"]["spec"]
    assert ("llama", "team", {"minMember": 4}) == (
        *(metadata["name"], metadata["namespace"]),
        pod_group["spec"],
    )
    assert "blue" == metadata["labels"]["py-gang-scheduler.io/queue"]
    (annotation,) = metadata["annotations"].values()
    assert '"SpineLayer", "strategy": "PreferGather"' in annotation
    assert (4, 4) == (of_job["spec"]["completions"], of_job["spec"]["parallelism"])
    assert ("high", 12 * 3600) == (spec["priorityClassName"], spec["activeDeadlineSeconds"])
    (container,) = spec["containers"]
    assert ["torchrun", "--nnodes=4", "my train.py"] == container["command"]
    assert {"nvidia.com/gpu": "8"} == container["resources"]["limits"]


def test_fields_that_are_empty_are_left_out(cluster: Cluster) -> None:
    form = replace(Form(), gpus="0", command="", image="busybox", nodes="1")
    of_job, pod_group = yaml_texts.read_all(found(form, cluster).text)

    (container,) = of_job["spec"]["template"]["spec"]["containers"]
    assert "annotations" not in pod_group["metadata"]
    assert {"name", "image", "env"} == set(container)


def test_the_command_and_the_python_make_the_same_job(cluster: Cluster) -> None:
    job = found(WHOLE, cluster).job
    words = shlex.split(job_form.as_command(job).replace("\\\n", " "))
    flags, command = words[3 : words.index("--")], words[words.index("--") + 1 :]
    given = dict(zip(flags[::2], flags[1::2], strict=True))
    made: dict[str, Any] = {}
    lines = job_form.as_python(job).partition("with Client")[0]
    exec(lines, made)  # noqa: S102 - what the page tells users to run.

    assert ["kubectl", "gang", "submit"] == words[:3]
    assert list(job.command) == command
    assert {
        "--name": "llama",
        "-n": "team",
        "--image": WHOLE.image,
        "--nodes": "4",
        "--gpus": "8",
        "--queue": "blue",
        "--prefer": "SpineLayer",
        "--priority-class": "high",
        "--time": "12h",
    } == given
    assert job == made["job"]


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("name", "Llama", "name: Llama must be a name of lower-case letters"),
        ("name", "", "name: "),
        ("namespace", "", "namespace: is required"),
        ("nodes", "0", "nodes: 0 must be a number from 1"),
        ("nodes", "5001", "nodes: 5001 must be at most 5000"),
        ("nodes", "9" * 4000, "nodes: 9"),
        ("gpus", "-1", "resources.gpu: -1 input should be greater than or equal to 0"),
        ("gpus", "x", "resources.gpu: x input should be a valid integer"),
        ("image", "", "image: is required"),
        ("command", "echo 'x", "command: echo 'x must have its quotes closed"),
        ("time", "1 day", 'time: 1 day must be a duration such as "90s" or "12h"'),
        ("gather", "maybe", "gather: maybe must be must or prefer"),
        ("image", "x" * 5000, "image: must have at most 4096 characters"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(
    field: str, value: str, fault: str, cluster: Cluster
) -> None:
    none, wrong = job_form.tried(replace(WHOLE, **{field: value}), cluster)

    assert none is None
    assert [field] == list(wrong)
    assert wrong[field].startswith(fault)


def test_a_form_has_the_fields_of_its_address_and_defaults() -> None:
    assert replace(Form(), nodes="4") == job_form.form_of({"nodes": " 4 ", "evil": "x"})
