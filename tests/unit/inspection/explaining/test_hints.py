"""What is said beside the first sentence, and which parts are left out where they say nothing."""

from pathlib import Path

import pytest

from support.listed_clusters import Body, asked, document, gang, node, pod, queue

NODES = [node("n-0"), node("n-1")]
PARTS = {"quota", "where", "nodes", "preemption", "position", "wouldStart"}


def summary(directory: Path, bodies: list[Body], name: str = "team/asks") -> str:
    said: str = document("explain", directory, [*NODES, *bodies], name)["summary"]
    return said


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ([0, 2], "It lacks members: 2 of 4 exist. Missing: asks-1 and asks-3."),
        ([1, 2, 3], "It lacks members: 3 of 4 exist. Missing: asks-0."),
        ([0, 7], "It lacks members: 2 of 4 exist."),
    ],
)
def test_members_that_are_missing_are_named_if_numbers_tell(
    tmp_path: Path, there: list[int], said: str
) -> None:
    group, *pods = gang("asks", 8)
    group["spec"]["minMember"] = 4

    assert said == summary(tmp_path, [group, *(pods[number] for number in there)])


def test_members_of_a_job_are_told_by_their_index(tmp_path: Path) -> None:
    group, *pods = gang("asks", 3)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
    for number, each in enumerate(pods):
        each["metadata"]["name"] = f"j-{number}-x7k2p"
        each["metadata"]["ownerReferences"] = [owner]
        each["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": str(number)}

    said = summary(tmp_path, [group, pods[0], pods[2]])

    assert "It lacks members: 2 of 3 exist. Missing: index 1." == said


def test_a_pod_group_and_pods_of_a_like_name_tell_of_each_other(tmp_path: Path) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "w7", "uid": "1", "controller": True}
    group, *pods = gang("w7", 4)
    for each in pods:
        each["metadata"]["ownerReferences"] = [owner]
        each["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io": "w7-train"}

    empty = summary(tmp_path, [group, *pods], "podgroup/w7")
    missing = summary(tmp_path, [group, *pods], "team/w7-train")

    assert (
        "It has no member yet: 4 are needed, and no pod names it. "
        'Pods w7-0, w7-1, w7-2 and 1 more of Job w7 name PodGroup "w7-train", which does not '
        "exist: is this one meant?" == empty
    )
    assert (
        'What describes it is missing: PodGroup "team/w7-train" does not exist. '
        'PodGroup "w7" exists, and no pod names it: is that one meant?' == missing
    )


def test_a_queue_may_be_misspelt(tmp_path: Path) -> None:
    bodies = [queue("team-a", 8), *gang("asks", 1, queue="tema-a")]

    assert "Its queue cannot be used: Queue tema-a does not exist. Did you mean team-a?" == summary(
        tmp_path, bodies
    )


def test_a_gang_that_lost_a_member_says_that_none_comes(tmp_path: Path) -> None:
    bodies = gang("asks", 3, gpus=1, nodes=["n-0", "n-0", "n-1"])

    assert (
        "It runs with 2 of 3 members, on 1 node; no pod waits in place of the others. "
        "Missing: asks-2." == summary(tmp_path, bodies[:-1])
    )


def test_parts_that_would_say_nothing_are_left_out(tmp_path: Path) -> None:
    nameless = pod("asks-0", labels={"pod-group.scheduling.sigs.k8s.io": "gone"})
    invalid = gang("invalid", 2)
    invalid[0]["spec"]["minMember"] = 0
    bodies = [*NODES, queue("team-a", 8), nameless, *invalid]

    for name in ("team/gone", "team/invalid"):
        found = document("explain", tmp_path, bodies, name)
        assert set() == PARTS & {*found}
        assert (None, None) == (found["queue"], found["members"]["needed"])
        text = asked("explain", tmp_path, bodies, name).stdout
        assert "needed" not in text.splitlines()[0]
