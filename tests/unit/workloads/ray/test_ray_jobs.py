"""RayJobs: the gang of one that is suspended, and labels that are none."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.workloads import ray


def ray_job(labels: object, *, suspend: bool = True) -> dict[str, Any]:
    container = {"name": "ray", "resources": {"requests": {"cpu": 2}}}
    head = {"template": {"spec": {"containers": [container]}}}
    return {
        "metadata": {"name": "tune", "namespace": "default", "uid": "u", "labels": labels},
        "spec": {"suspend": suspend, "rayClusterSpec": {"headGroupSpec": head}},
    }


def test_the_head_of_one_that_is_suspended_is_its_gang() -> None:
    (spec,) = ray.read_ray_job(ray_job({"a": "b"})).gang_specs

    assert ("RayJob", "tune") == (spec.key.source, spec.key.name)


def test_one_that_runs_has_no_gang_of_its_own() -> None:
    assert () == ray.read_ray_job(ray_job({}, suspend=False)).gang_specs


@pytest.mark.parametrize("labels", ["x" * 5000, ["a"], True, 7])
def test_labels_that_are_none_are_refused_by_name(labels: object) -> None:
    with pytest.raises(InvalidField) as refused:
        ray.read_ray_job(ray_job(labels))

    assert "metadata.labels" in str(refused.value)
