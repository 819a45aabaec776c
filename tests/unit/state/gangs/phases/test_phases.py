"""The phase of a gang follows from the counts of its members.

The table is `podgroup-phase-table` of the conformance data (from Koordinator, Apache-2.0), without
its row on gangs that are too old to be looked at.
"""

from dataclasses import replace

import pytest

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model.gangs import Role, RoleCount
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import Counts
from support import builders
from support.gang_queue_builders import gang_info

TABLE = """
minMember pods podPhase  podNextPhase previous   phase
2         2    Running   -            Scheduled  Running
2         2    Failed    -            Scheduled  Failed
2         2    Succeeded -            Scheduled  Finished
2         2    Pending   -            Scheduling Scheduled
2         2    Pending   Succeeded    Scheduling Finished
2         2    Pending   Succeeded    Pending    Finished
3         2    Pending   -            Pending    Pending
2         0    -         -            Running    Pending
4         4    Running   -            Scheduling Running
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()[1:]]


def record(min_member: int, *, pods: int, phase: str, node: str) -> GangInfo:
    key = builders.gang_key("a")
    spec = builders.gang_spec("a", min_member)
    made = [builders.pod(f"a-{i}", gang="a", node=node, phase=phase) for i in range(pods)]
    return gang_info(key, made, [spec])


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_phase_is_that_of_the_conformance_table(row: list[str]) -> None:
    min_member, pods, now, following, previous, expected = row
    phase = following if following != "-" else now
    # A gang that was being scheduled, or was, has its pods on nodes.
    node = "" if previous == "Pending" and phase == "Pending" else "n"
    gang = record(
        int(min_member), pods=int(pods), phase=phase if phase != "-" else "Running", node=node
    )

    assert expected == phases.phase_of(phases.counts_of(gang))


@pytest.mark.parametrize(
    ("counts", "phase"),
    [
        (Counts(2), Phase.PENDING),
        (Counts(2, members=1), Phase.PENDING),
        (Counts(2, members=1, tried=True), Phase.PENDING),
        (Counts(2, members=2), Phase.PRE_SCHEDULING),
        (Counts(2, members=2, tried=True), Phase.SCHEDULING),
        (Counts(2, members=2, scheduled=1, tried=True), Phase.SCHEDULING),
        (Counts(2, members=3, scheduled=2, tried=True), Phase.SCHEDULED),
        (Counts(2, members=2, scheduled=2, running=1), Phase.SCHEDULED),
        (Counts(2, members=2, scheduled=2, running=2), Phase.RUNNING),
        (Counts(2, members=1, scheduled=1, running=1, succeeded=1), Phase.RUNNING),
        # Enough have succeeded, and none runs.
        (Counts(2, members=1, succeeded=2, tried=True), Phase.PENDING),
        (Counts(2, members=2, succeeded=2, tried=True), Phase.SCHEDULING),
        (Counts(2, members=2, succeeded=2), Phase.PRE_SCHEDULING),
        (Counts(2, members=1, done=2, tried=True), Phase.SCHEDULING),
        (Counts(2, members=1, scheduled=1, done=2), Phase.SCHEDULED),
        (Counts(2, members=2, scheduled=2, succeeded=2), Phase.SCHEDULED),
        (Counts(2, members=1, scheduled=1, running=1, succeeded=2), Phase.RUNNING),
        (Counts(2, succeeded=2), Phase.FINISHED),
        (Counts(2, jobs_failed=True), Phase.FAILED),
        (Counts(2, failed=2, jobs_failed=True), Phase.FAILED),
        (Counts(2, succeeded=1, jobs_failed=True), Phase.FAILED),
        # What is left of it is no gang that waits for its end.
        (Counts(2, members=2, jobs_failed=True), Phase.PRE_SCHEDULING),
        (Counts(2, succeeded=2, jobs_failed=True), Phase.FINISHED),
        (Counts(2, members=1, scheduled=1, running=1, failed=1), Phase.FAILED),
        # Members that were evicted, and that their Job creates again.
        (Counts(2, failed=2, is_recreated=True), Phase.PENDING),
        (Counts(2, members=1, failed=2, is_recreated=True), Phase.PENDING),
        (Counts(2, failed=2, jobs_failed=True, is_recreated=True), Phase.FAILED),
        # The failed member was replaced: the gang is complete again.
        (Counts(2, members=2, scheduled=1, running=1, failed=1, tried=True), Phase.SCHEDULING),
    ],
)
def test_the_first_row_that_holds_is_the_phase(counts: Counts, phase: Phase) -> None:
    assert phase == phases.phase_of(counts)


@pytest.mark.parametrize(
    ("reason", "tried"), [(Reason.UNSCHEDULABLE, True), (Reason.INVALID_SPEC, False)]
)
def test_only_a_gang_that_lacked_room_was_tried(reason: Reason, *, tried: bool) -> None:
    gang = record(2, pods=2, phase="Pending", node="")
    gang.verdict.refused(Refused(builders.gang("a"), reason, ()), late=False)

    assert tried == phases.counts_of(gang).tried


# Roles.


def of_roles(pods: str, node: str = "", phase: str = "Pending") -> GangInfo:
    """Return a gang of one master and two workers, with pods by the first letter of their role."""
    spec = builders.gang_spec("a", 3)
    spec = replace(spec, roles=(Role("m", 1), Role("w", 2)))
    made = [
        replace(builders.pod(f"a-{i}", gang="a", node=node, phase=phase), role=role)
        for i, role in enumerate(pods)
    ]
    return gang_info(builders.gang_key("a"), made, [spec])


@pytest.mark.parametrize(
    ("pods", "how", "phase"),
    [
        ("wwww", {}, Phase.PENDING),
        ("mww", {}, Phase.PRE_SCHEDULING),
        ("wwww", {"node": "n", "phase": "Running"}, Phase.PENDING),
        ("mww", {"node": "n"}, Phase.SCHEDULED),
        ("mww", {"node": "n", "phase": "Running"}, Phase.RUNNING),
        ("wwww", {"node": "n", "phase": "Succeeded"}, Phase.PENDING),
        ("mww", {"node": "n", "phase": "Succeeded"}, Phase.FINISHED),
    ],
)
def test_every_role_has_its_number(pods: str, how: dict[str, str], phase: Phase) -> None:
    assert phase == phases.phase_of(phases.counts_of(of_roles(pods, **how)))


def test_the_roles_that_are_short_are_reported() -> None:
    counts = phases.counts_of(of_roles("www"))

    assert (RoleCount("m", 0, 1),) == counts.short_of(phases.members)
    assert () == phases.counts_of(record(2, pods=1, phase="Pending", node="")).short_of(
        phases.members
    )


def test_an_attempt_is_whole_once_every_role_is() -> None:
    workers, everyone = (of_roles(pods, node="n", phase="Running") for pods in ("www", "mww"))
    for each in (workers, everyone):
        each.settle(5)

    assert [False, True] == [each.attempt.was_whole for each in (workers, everyone)]
    assert [None, 5] == [each.attempt.quorum_since for each in (workers, everyone)]
    assert {"m": 0, "w": 2} == everyone.attempt.surplus_of({"m": 1, "w": 4})


def test_a_job_of_one_role_that_has_ended_is_needed_no_more() -> None:
    info = of_roles("ww", node="n", phase="Running")

    info.attempt.spare({"m": 1})

    assert (2, True) == (info.attempt.needed, info.attempt.is_confirmed())
