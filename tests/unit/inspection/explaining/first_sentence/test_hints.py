"""What is said beside the first sentence, and which parts are left out where they say nothing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.listed_clusters import Body, asked, document, gang, node, pod, queue
from support.suspended_jobs import job, template

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


def test_members_of_a_job_are_named_by_their_index(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("members", "again"), [(1, "12:00:10"), (2, "12:00:20"), (4, "12:01:20"), (9, "12:10:00")]
)
def test_the_pods_of_an_evicted_gang_come_again_later(
    tmp_path: Path, members: int, again: str
) -> None:
    group, *_ = gang("w7", members)
    group["status"] = {"evictions": {"count": 1, "last": "2026-01-01T12:00:00Z"}}
    are = "is" if members == 1 else "are"

    assert (
        f"It has no member now: {members} {are} needed. It was evicted at 2026-01-01T12:00:00Z: "
        f"a Job creates its pods again at about 2026-01-01T{again}Z, and within seconds if it "
        "has backoffLimitPerIndex."
    ) == summary(tmp_path, [group], "podgroup/w7")


def test_a_queue_may_be_misspelt(tmp_path: Path) -> None:
    bodies = [queue("team-a", 8), *gang("asks", 1, queue="tema-a")]

    assert "Its queue cannot be used: Queue tema-a does not exist. Did you mean team-a?" == summary(
        tmp_path, bodies
    )


def test_a_gang_that_lost_a_member_says_that_none_comes(tmp_path: Path) -> None:
    bodies = gang("asks", 3, gpus=1, nodes=["n-0", "n-0", "n-1"])

    assert (
        "It runs with 2 of 3 members, on 1 node; no pod waits to replace the missing ones. "
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


LOCAL = {"kueue.x-k8s.io/queue-name": "user-queue"}
OURS = {"py-gang-scheduler.io/queue": "blue"}
GANG = {"py-gang-scheduler.io/gang": "true"}


@pytest.mark.parametrize(
    ("labels", "of_pods", "scheduler", "why"),
    [
        (LOCAL, {}, "", "LocalQueue user-queue and its pod template has schedulerName default-"),
        (LOCAL, GANG, "", "LocalQueue user-queue and its pod template has schedulerName default-"),
        ({}, LOCAL, "", "LocalQueue user-queue and its pod template has schedulerName default-"),
        (LOCAL, GANG, "py-gang-scheduler", "there are no queues such as LocalQueue user-queue"),
        ({}, GANG, "py-gang-scheduler", "it names no queue"),
        ({}, GANG, "volcano", "it names no queue"),
        (OURS, {}, "volcano", "its pod template has schedulerName volcano"),
        (OURS, GANG, "volcano", "its pod template has schedulerName volcano"),
        (OURS, GANG, "", "its pod template has schedulerName default-scheduler"),
    ],
)
def test_a_suspended_job_that_nothing_here_starts_says_so(
    tmp_path: Path,
    labels: Mapping[str, str],
    of_pods: Mapping[str, str],
    scheduler: str,
    why: str,
) -> None:
    body = job("asks", 3, queue="", labels=dict(labels))
    body["spec"]["template"]["metadata"]["labels"] = dict(of_pods)
    body["spec"]["template"]["spec"] |= {"restartPolicy": "Never", "schedulerName": scheduler}
    if not scheduler:
        del body["spec"]["template"]["spec"]["schedulerName"]
    found = document("explain", tmp_path, [node("n"), body], "asks")

    assert found["summary"].startswith("It is suspended (spec.suspend): its controller creates no")
    assert why in found["summary"]


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("asked_for", "members", "meant"),
    [
        ("topology.kubernetes.io/rack", 2, ""),
        ("kubernetes.io/rack", 2, ""),
        ("kubernetes.io/hostnam", 2, ""),
        ("kubernetes.io/hostnam", 1, HOST),
        ("topology.kubernetes.io/zones", 2, ZONE),
        ("topology.k8s.io/zone", 2, ZONE),
        ("topology.kubernetes.io/zones", 3, ""),
        ("kubernetes.io/oss", 1, ""),
    ],
)
def test_a_label_is_meant_only_if_a_domain_of_it_could_hold_the_gang(
    tmp_path: Path, asked_for: str, members: int, meant: str
) -> None:
    nodes = [
        node(f"n-{i}", labels={ZONE: f"z-{i // 2}", HOST: f"n-{i}", "kubernetes.io/os": "linux"})
        for i in range(4)
    ]
    bodies = gang("asks", members)
    for each in bodies[1:]:
        each["metadata"]["annotations"] = {"kueue.x-k8s.io/podset-required-topology": asked_for}
    found = document("explain", tmp_path, [*nodes, *bodies], "team/asks")["summary"]

    assert f"no node has the label {asked_for}" in found
    assert (f"did you mean {meant}?" in found) if meant else ("did you mean" not in found)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("number", [1, 4])
def test_halves_of_a_gang_in_two_namespaces_tell_of_each_other(
    tmp_path: Path, number: int, *, hidden: bool
) -> None:
    group, *_ = gang("train", number, namespace="left")
    _, *pods = gang("train", number, namespace="right")
    bystander, *_ = gang("other", number, namespace="right")
    cluster = [node("n"), bystander, group, *pods]
    setting = ["--setting", f"hide-foreign-names={str(hidden).lower()}"]
    left, right = ("another namespace",) * 2 if hidden else ("namespace left", "namespace right")

    of_pods = document("explain", tmp_path, cluster, "right/train", *setting)["summary"]
    of_group = document("explain", tmp_path, cluster, "left/train", *setting)["summary"]

    assert f"A PodGroup of this name is in {left}, and waits for {number} members, of" in of_pods
    assert "of which 0 exist: a PodGroup is for the pods of its own namespace." in of_pods
    some = "1 pod" if number == 1 else "4 pods"
    names = "names" if number == 1 else "name"
    assert f"{some} in {right} {names} a PodGroup of this name there, which does" in of_group


def test_a_whole_gang_of_the_same_name_elsewhere_is_not_meant(tmp_path: Path) -> None:
    _, *pods = gang("train", 2, namespace="right")
    cluster = [node("n"), *gang("train", 2, namespace="left"), *pods]

    found = document("explain", tmp_path, cluster, "right/train")["summary"]

    assert "PodGroup of this name" not in found


@pytest.mark.parametrize(("most", "needed"), [(8, 80), (1, 2), (8, 9)])
def test_members_that_can_never_exist_are_not_missing(
    tmp_path: Path, most: int, needed: int
) -> None:
    group, *_ = gang("big", needed)
    of = template(gang=False, restartPolicy="Never")
    of["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] = "big"
    made = job("big", most, queue="", of=of, suspend=False)
    made["metadata"]["namespace"] = "team"
    cluster = [*(node(f"n-{number}") for number in range(16)), group, made]

    found = document("explain", tmp_path, cluster, "team/big")

    assert f"or minMember be lowered to {most}." in found["summary"]
    assert "Missing" not in found["summary"]
    (need,) = found["needs"]
    assert ("PodGroup team/big", "minMember", "submitter") == tuple(
        need[each] for each in ("object", "field", "by")
    )
    assert need["value"] == f"{most}: all that Job team/big can have at once"
