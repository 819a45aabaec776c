"""Why gangs wait, in a few words."""

from pathlib import Path

import pytest

from support.listed_clusters import Body, asked, gang, node, pod, queue

NODES = [node("n-0"), node("n-1")]
TIGHT = [*NODES, pod("p", gpus=4, node="n-0")]


def said(directory: Path, bodies: list[Body], name: str = "asks") -> str:
    """Return the last column of a gang's line."""
    found = asked("list", directory, bodies).stdout.splitlines()
    line = next(each for each in found if each.startswith(f"team/{name} "))
    return line[line.index("(") :]


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        ([*TIGHT, *gang("asks", 2)], "(Unschedulable: room for 1 of 2)"),
        (
            [*NODES, *gang("asks", 1, gpus=9)],
            "(Unschedulable: asks 9 nvidia.com/gpu, nodes have 8)",
        ),
        ([*TIGHT, pod("q", gpus=4, node="n-1"), *gang("asks", 1)], "(Unschedulable: short of 4"),
        (gang("asks", 2), "(Unschedulable: there are no nodes)"),
        ([*NODES, *gang("asks", 2)[:2]], "(WaitingForMembers: 1 of minMember 2 members exist)"),
        ([*NODES, *gang("asks", 2)], "(NextCycle: there is room)"),
        (
            [*NODES, *gang("r", 1, nodes=["n-0"]), *gang("asks", 2, priority=9)],
            "(WaitingForVictims: 1 pod must leave)",
        ),
        (
            [
                *(*NODES, node("n-2"), queue("a", 8), queue("b", 16)),
                *gang("r", 2, queue="b", nodes=["n-0", "n-1"]),
                *gang("asks", 2, queue="a"),
            ],
            "(WaitingForQuota: 8 nvidia.com/gpu short in a)",
        ),
    ],
)
def test_the_number_that_is_short_is_said(tmp_path: Path, bodies: list[Body], words: str) -> None:
    assert words in said(tmp_path, bodies)
