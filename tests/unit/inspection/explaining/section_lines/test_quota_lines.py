"""QUOTA: what a queue has and uses, what a gang adds, and what is short."""

from pathlib import Path

from gang_scheduler.inspection.explaining import section_lines
from gang_scheduler.inspection.explaining.section_lines import View
from support.listed_clusters import GPU, Body, asked, document, explained, gang, node, queue

NODES = [node(f"n-{number}") for number in range(8)]
QUEUES = [queue("blue", 32), queue("red", 32)]


def said(directory: Path, bodies: list[Body], name: str = "asks", *, wide: bool = False) -> str:
    """Return what is said on the quota of a gang."""
    found = explained(directory, [*NODES, *QUEUES, *bodies], f"team/{name}")
    return "\n".join(line.text for line in section_lines.quota_lines(found, View(wide=wide)))


def runs(name: str, members: int, queue_name: str, first: int = 0) -> list[Body]:
    """Return a gang that runs, a member a node."""
    nodes = [f"n-{number}" for number in range(first, first + members)]
    return gang(name, members, queue=queue_name, nodes=nodes)


def test_what_is_within_the_quota_of_a_queue(tmp_path: Path) -> None:
    bodies = [*runs("a", 2, "blue"), *gang("asks", 1, queue="blue", gpus=16)]

    assert "blue has 32 nvidia.com/gpu, uses 16; this adds 16, within its quota" == said(
        tmp_path, bodies
    )


def test_what_is_borrowed_in_part(tmp_path: Path) -> None:
    bodies = [*runs("a", 3, "blue"), *gang("asks", 2, queue="blue", gpus=16)]

    assert "blue has 32 nvidia.com/gpu, uses 24; this adds 32, 24 of them borrowed" == said(
        tmp_path, bodies
    )


def test_gangs_without_a_queue_have_nothing_of_their_own(tmp_path: Path) -> None:
    bodies = [*runs("a", 8, ""), *gang("asks", 4)]

    assert (
        "gangs without a queue have no nvidia.com/gpu of their own, use 64, all of it borrowed; "
        "this adds 32, and nothing is left: 32 short" == said(tmp_path, bodies).splitlines()[0]
    )


def test_queues_that_hold_what_is_short_are_named(tmp_path: Path) -> None:
    bodies = [*runs("a", 5, "red"), *runs("b", 2, "", 5), *gang("asks", 3, queue="blue")]

    assert (
        "blue has 32 nvidia.com/gpu, uses 0; this adds 24, and only 8 are left: 16 short; "
        "gangs without a queue borrow 16 and red borrows 8" == said(tmp_path, bodies)
    )


def test_queues_above_are_reported_if_all_is_asked_for(tmp_path: Path) -> None:
    bodies = [*runs("a", 2, "blue"), *gang("asks", 1, queue="blue", gpus=16)]

    assert (
        "all queues together have 64 nvidia.com/gpu, use 16; this adds 16, within its quota"
        == said(tmp_path, bodies, wide=True).splitlines()[1]
    )


def test_what_gangs_before_it_take_is_reported_beside_what_is_used(tmp_path: Path) -> None:
    first = gang("first", 2, queue="blue", created="2026-01-01T12:00:00Z")
    bodies = [*runs("a", 4, "red"), *runs("b", 1, "blue", 4), *first]
    bodies += gang("asks", 2, queue="blue", created="2026-01-01T13:00:00Z")

    assert (
        "blue has 32 nvidia.com/gpu, uses 8, and gangs before it take 16; this adds 16, "
        "and only 8 are left: 8 short"
    ) == said(tmp_path, bodies).splitlines()[0]
    (blue,) = document("queues", tmp_path, [*NODES, *QUEUES, *bodies], "blue")["items"]
    assert ["8"] == [each["used"] for each in blue["resources"] if each["resource"] == GPU]


def test_the_column_of_a_list_says_what_gangs_before_it_take(tmp_path: Path) -> None:
    first = gang("first", 7, queue="blue", created="2026-01-01T12:00:00Z")
    asks = gang("asks", 3, queue="blue", created="2026-01-01T13:00:00Z")
    bodies = [*NODES, *QUEUES, *runs("b", 1, "blue"), *first, *asks]
    alone = [*NODES, *QUEUES, *runs("b", 8, "blue"), *asks]

    told = asked("list", tmp_path, bodies).stdout
    assert "(WaitingForQuota: 24 nvidia.com/gpu short in blue, gangs before it take 56)" in told
    assert "gangs before it" not in asked("list", tmp_path, alone).stdout
