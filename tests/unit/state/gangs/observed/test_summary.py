"""What the living members of a gang say together, compared with what each says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.api.annotations import GANG_TOTAL_NUMBER
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import QueueName, QueueNameKind, QueueRequest
from gang_scheduler.model.topology_request import GangRequest, PodSet, TopologyRequest
from gang_scheduler.state.gangs.observed import NO_MEMBERS, Summary, summary_of
from support.builders import pod

SELDOM = st.sampled_from([False, False, True])
PROBLEM = Problem(Reason.INVALID_SPEC, InvalidInput("wrong"))
REQUESTS = [QueueRequest((QueueName(QueueNameKind.QUEUE, name),)) for name in "ab"]


@st.composite
def members(draw: st.DrawFn) -> list[Pod]:
    return [draw(member(number)) for number in range(draw(st.integers(1, 4)))]


@st.composite
def member(draw: st.DrawFn, number: int) -> Pod:
    found = pod(
        f"p-{number}",
        node="n" if draw(SELDOM) else "",
        nominated="n" if draw(SELDOM) else "",
        priority=draw(st.integers(-1, 1)),
        created_at=draw(st.integers(5, 7)),
        annotations={GANG_TOTAL_NUMBER: "2"} if draw(SELDOM) else {},
    )
    return replace(
        found,
        has_creation_time=not draw(SELDOM),
        preempts=not draw(SELDOM),
        job_uid="job" if draw(SELDOM) else "",
        problem=PROBLEM if draw(SELDOM) else None,
        role="worker" if draw(SELDOM) else "",
        podset=PodSet(TopologyRequest()) if draw(SELDOM) else None,
        gang_request=GangRequest(None) if draw(SELDOM) else None,
        queue_request=draw(st.sampled_from([None, *REQUESTS])),
    )


@given(members())
def test_a_summary_is_what_each_member_says(pods: list[Pod]) -> None:
    requests = [each.queue_request for each in pods if each.queue_request is not None]

    assert summary_of(pods) == Summary(
        bound=sum(bool(each.node) for each in pods),
        oldest=min(pods, key=lambda each: (each.created_at, each.uid)),
        earliest=min(each.created_at if each.has_creation_time else 0 for each in pods),
        lowest=min(each.priority for each in pods),
        highest=max(each.priority for each in pods),
        of_gang=any(each.gang_annotations for each in pods),
        nominated=any(each.nominated for each in pods),
        never_preempts=not all(each.preempts for each in pods),
        of_jobs=any(each.job_uid for each in pods),
        with_problem=any(each.problem for each in pods),
        with_role=any(each.role for each in pods),
        with_podset=any(each.podset for each in pods),
        with_gang_request=any(each.gang_request for each in pods),
        queue_requests=tuple(dict.fromkeys(requests)),
    )


def test_without_members_there_is_nothing() -> None:
    assert NO_MEMBERS == summary_of([]) == Summary()
