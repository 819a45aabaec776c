"""Pod groups of Kueue."""

import pytest

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.pods import Pod
from gang_scheduler.report.words.text import text_of
from gang_scheduler.workloads import kueue_pod_groups
from support import decoded
from support.api_objects import pod_body

PREFIX = "kueue.x-k8s.io/pod-group-"


def pod(**annotations: str) -> Pod:
    written = {f"{PREFIX}{key.replace('_', '-')}": text for key, text in annotations.items()}
    metadata = {"labels": {f"{PREFIX}name": "g"}, "annotations": written}
    return decoded.pod(pod_body("a", metadata=metadata))


def gang_of(member: Pod) -> GangSpec:
    found = kueue_pod_groups.by_members(member.gang, [member], None)
    assert found is not None
    return found


def test_the_total_is_the_quorum() -> None:
    member = pod(total_count="4", pod_index="2")

    assert ("KueuePodGroup", "g") == (member.gang.source, member.gang.name)
    assert (4, (2,)) == (gang_of(member).min_member, member.rank)


def test_options_and_a_topology_request_are_read_as_of_other_gangs_of_pods() -> None:
    key = "gang.scheduling.koordinator.sh/mode"
    metadata = {
        "labels": {f"{PREFIX}name": "g"},
        "annotations": {f"{PREFIX}total-count": "1", key: "NonStrict"},
    }

    assert not gang_of(decoded.pod(pod_body("a", metadata=metadata))).options.strict


@pytest.mark.parametrize(
    ("annotations", "wrong"),
    [
        ({}, "is required in a pod group of Kueue"),
        ({"total_count": "0"}, 'must be a whole number of at least 1, not "0"'),
        ({"total_count": "two"}, 'must be a whole number of at least 1, not "two"'),
    ],
)
def test_a_group_without_a_total_waits(annotations: dict[str, str], wrong: str) -> None:
    problem = gang_of(pod(**annotations)).problem

    assert problem is not None
    assert f"metadata.annotations[{PREFIX}total-count] {wrong}" == text_of(problem.cause)


def test_a_group_with_fast_admission_is_no_gang() -> None:
    assert "Pod" == pod(total_count="4", fast_admission="true").gang.source
    assert "KueuePodGroup" == pod(total_count="4", fast_admission="false").gang.source


def test_a_quorum_beside_the_total_is_reported() -> None:
    key = "gang.scheduling.koordinator.sh/min-available"
    metadata = {
        "labels": {f"{PREFIX}name": "g"},
        "annotations": {f"{PREFIX}total-count": "4", key: "2"},
    }
    problem = gang_of(decoded.pod(pod_body("a", metadata=metadata))).problem

    assert problem is not None
    where = f"metadata.annotations[{PREFIX}total-count]"
    expected = f"metadata.annotations[{key}] is not read where {where} says the quorum"
    assert expected == text_of(problem.cause)
