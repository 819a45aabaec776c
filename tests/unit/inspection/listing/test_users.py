"""The GPUs in use by namespace, user and scheduler, whichever started the pods."""

from pathlib import Path

import pytest

from support.listed_clusters import GPU, Body, asked, document, gang, node, pod

KIM = {"py-gang-scheduler.io/user": "kim"}
CLUSTER = [
    *(node(f"n-{number}") for number in range(4)),
    *gang("runs", 2, nodes=["n-0", "n-1"], labels=KIM),
    *gang("waits", 2),
    pod("alone", gpus=3, node="n-2"),
    pod("notebook", gpus=4, node="n-3", scheduler="default-scheduler", namespace="lab"),
    pod("batch", gpus=1, node="n-3", scheduler="volcano", namespace="lab", labels=KIM),
    pod("agent", gpus=0, node="n-3", scheduler="default-scheduler", namespace="ops"),
    pod("pending", gpus=8, scheduler="default-scheduler", namespace="lab"),
]
DONE = pod("done", gpus=3, node="n-2", scheduler="default-scheduler", namespace="lab")
DONE["status"]["phase"] = "Succeeded"


def test_whoever_uses_gpus_is_listed_most_of_them_first(tmp_path: Path) -> None:
    lines = asked("cluster", tmp_path, [*CLUSTER, DONE], "--users").stdout.splitlines()

    assert [
        "NAMESPACE  USER  SCHEDULER          PODS  nvidia.com/gpu",
        "team       kim   py-gang-scheduler     2              16",
        "lab        -     default-scheduler     1               4",
        "team       -     py-gang-scheduler     1               3",
        "lab        kim   volcano               1               1",
    ] == lines[:-1]


def test_its_sum_is_what_the_tree_of_the_cluster_says_is_used(tmp_path: Path) -> None:
    users = document("cluster", tmp_path, [*CLUSTER, DONE], "--users")["items"]
    tree = asked("cluster", tmp_path, [*CLUSTER, DONE], "--depth", "0").stdout

    assert 24 == sum(int(each["used"][GPU]) for each in users)
    assert " 24/32" in tree


def test_of_one_namespace_that_alone(tmp_path: Path) -> None:
    found = document("cluster", tmp_path, CLUSTER, "--users", "-n", "lab")["items"]

    assert [("lab", None), ("lab", "kim")] == [(each["namespace"], each["user"]) for each in found]


def test_a_node_has_its_own_view(tmp_path: Path) -> None:
    result = asked("cluster", tmp_path, CLUSTER, "n-0", "--users")

    assert (2, True) == (result.exit_code, "cluster n-0 shows" in result.stderr)


def test_nothing_used_is_said(tmp_path: Path) -> None:
    result = asked("cluster", tmp_path, [node("n")], "--users")

    assert "no scarce resources are used" == result.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "2 pods of other schedulers use 5 nvidia.com/gpu more: cluster --users says whose"),
        (["-n", "lab"], "2 pods of other schedulers use 5 nvidia.com/gpu more"),
        (["-n", "team"], ""),
        (["--state", "running"], ""),
        (["-l", "!app"], ""),
        (["--no-headers"], ""),
    ],
)
def test_a_list_says_what_others_use_beside_it(
    tmp_path: Path, options: list[str], told: str
) -> None:
    found = asked("list", tmp_path, [*CLUSTER, DONE], *options).stdout

    assert told in found
    assert bool(told) is ("other schedulers" in found)


def test_a_pod_of_another_scheduler_in_the_singular(tmp_path: Path) -> None:
    bodies: list[Body] = [node("n"), pod("x", gpus=2, node="n", scheduler="volcano")]

    assert "1 pod of other schedulers uses 2 nvidia.com/gpu more" in (
        asked("list", tmp_path, bodies).stdout
    )
