"""The roles of a workload reach the PodGroup that its controller made, whichever comes first."""

from dataclasses import replace

import pytest

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import gang_key, gang_spec
from support.gang_queue_builders import empty_queue

JOB = GangKey("PyTorchJob", "default", "a")
WORKLOAD = GangSpec(
    JOB,
    "w",
    min_member=3,
    roles=(Role("master", 1, 1), Role("worker", 2, 2)),
    elastic_role="worker",
)
GROUP = replace(gang_spec("a", min_member=2), uid="g", made_for=JOB)


def roles(queue: GangQueue) -> tuple[Role, ...]:
    spec = queue.infos[gang_key("a")].observed.spec
    assert spec is not None
    return spec.roles


@pytest.mark.parametrize("job_first", [False, True])
def test_a_group_has_the_roles_of_its_job(*, job_first: bool) -> None:
    queue = empty_queue()
    both = [("groups", "g", GROUP), ("jobs", "w", WORKLOAD)]
    for kind, uid, spec in reversed(both) if job_first else both:
        queue.upsert_gang_specs(kind, uid, [spec])

    assert (Role("master", 1, 1), Role("worker", 1, 2)) == roles(queue)


def test_a_group_waits_for_a_job_that_has_roles_and_is_not_known() -> None:
    queue = empty_queue()
    queue.upsert_gang_specs("groups", "g", [GROUP])
    observed = queue.infos[gang_key("a")].observed
    assert JOB == observed.missing_workload

    queue.upsert_gang_specs("jobs", "w", [WORKLOAD])
    assert observed.missing_workload is None


@pytest.mark.parametrize(
    "group",
    [
        replace(GROUP, made_for=None),
        replace(GROUP, made_for=JOB._replace(source="Workflow")),
        replace(GROUP, roles=WORKLOAD.roles),
    ],
)
def test_a_group_of_a_kind_without_roles_or_with_roles_of_its_own_waits_for_none(
    group: GangSpec,
) -> None:
    queue = empty_queue()
    queue.upsert_gang_specs("groups", "g", [group])

    assert queue.infos[gang_key("a")].observed.missing_workload is None


def test_it_learns_what_becomes_of_its_job() -> None:
    queue = empty_queue()
    queue.upsert_gang_specs("groups", "g", [GROUP])
    queue.upsert_gang_specs("jobs", "w", [WORKLOAD])
    queue.upsert_gang_specs("jobs", "w", [replace(WORKLOAD, roles=WORKLOAD.roles[1:])])
    assert (Role("worker", 2, 2),) == roles(queue)

    queue.delete_gang_specs("jobs", "w")
    assert () == roles(queue)

    queue.delete_gang_specs("groups", "g")
    assert not queue.infos
