"""TrainingJob refuses what contradicts itself, and what it does not know."""

from typing import Any

import pytest
from pydantic import ValidationError

from gang_scheduler.submit.training_job import TrainingJob

ROLES = [{"name": "learner"}, {"name": "rollout", "nodes": 2}]


@pytest.mark.parametrize(
    ("nodes", "bounds"), [(1, (1, 1)), ("4", (4, 4)), ("2:8", (2, 8)), ("2-8", (2, 8))]
)
def test_nodes_are_a_number_or_a_range(nodes: Any, bounds: tuple[int, int]) -> None:
    job = TrainingJob(name="a", nodes=nodes)

    assert (bounds, bounds[0] != bounds[1]) == (job.bounds, job.is_elastic)


def test_members_of_all_roles_count() -> None:
    job = TrainingJob.model_validate({"name": "a", "jobType": "JobSet", "roles": ROLES})

    assert (3, 3) == job.bounds


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"nodes": 0}, "must be a number from 1"),
        ({"nodes": "8:2"}, "must be a number from 1"),
        ({"must": "a", "prefer": "b"}, "must and prefer"),
        ({"priority": 1, "priority_class": "high"}, "priority and priorityClass"),
        ({"elastic": {}}, "nodes must be a range"),
        ({"nodes": "2:8", "gang_scheduling": False}, "gangScheduling"),
        ({"must": "a", "gang_scheduling": False}, "gangScheduling"),
        ({"roles": ROLES}, "a Job has one role"),
        ({"job_type": "JobSet"}, "needs roles"),
        ({"job_type": "JobSet", "roles": [*ROLES, *ROLES]}, "names differ"),
        ({"job_type": "JobSet", "roles": ROLES, "nodes": 2}, "leave out nodes"),
        ({"job_type": "MPIJob", "script": {"text": ""}}, "only jobType Job"),
        ({"script": {"text": ""}, "command": ["a"]}, "leave out command"),
        ({"gpus": 8}, "Extra inputs"),
        ({"resources": {"memory": "much"}}, "must be a quantity"),
        ({"time": "0s"}, "must be a duration"),
        ({"preemption_policy": "PreemptAlways"}, "evicted by an equal"),
    ],
)
def test_contradictions_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        TrainingJob.model_validate({"name": "a", **fields})


def test_a_job_does_not_change() -> None:
    job = TrainingJob(name="a")

    with pytest.raises(ValidationError, match="frozen"):
        job.name = "b"
