"""What is wrong with what a pod says of its role, and of what becomes of it if it is stuck.

Other faults are tested with what they are of.
"""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.model.pods import Pod
from gang_scheduler.report.words.text import text_of
from support import decoded as pod_decode
from support.api_objects import pod_body

OURS = annotations.POD_GROUP_LABEL
ROLES = f"metadata.annotations[{annotations.ROLES}] belongs on the PodGroup of the pod"


def labelled(**metadata: dict[str, str]) -> Pod:
    return pod_decode.pod(pod_body("p", metadata=metadata))


def problem(**metadata: dict[str, str]) -> str:
    found = labelled(**metadata).problem
    return text_of(found.cause) if found is not None else ""


def test_the_label_is_the_role() -> None:
    assert "master" == labelled(labels={OURS: "a", annotations.ROLE: "master"}).role
    assert "" == labelled(labels={OURS: "a"}).role


def test_a_member_of_a_gang_may_have_a_role() -> None:
    assert "" == problem(labels={OURS: "a", annotations.ROLE: "master"})


@pytest.mark.parametrize("labels", [{}, {OURS: "a"}, {annotations.JOB_GANG_LABEL: "false"}])
def test_roles_of_a_gang_belong_on_its_pod_group(labels: dict[str, str]) -> None:
    assert ROLES in problem(labels=labels, annotations={annotations.ROLES: '{"a": 1}'})


def test_or_on_the_members_of_a_gang_without_one() -> None:
    present = {annotations.GANG_NAME: "g", annotations.ROLES: '{"a": 1}'}

    assert "" == problem(labels={annotations.ROLE: "a"}, annotations=present)


def test_a_role_outside_a_gang_is_in_vain() -> None:
    said = f"metadata.labels[{annotations.ROLE}] is the role of a member of a gang, and this pod is"

    assert said in problem(labels={annotations.ROLE: "master"})


@pytest.mark.parametrize(("text", "wrong"), [("10m", False), ("soon", True), ("0", True)])
def test_after_how_long_a_stuck_pod_may_be_removed_is_a_duration(text: str, *, wrong: bool) -> None:
    found = problem(annotations={annotations.FORCE_DELETE_STUCK_PODS: text})

    assert wrong is (annotations.FORCE_DELETE_STUCK_PODS in found)
