"""How many members must be placed together."""

from dataclasses import replace

import pytest

from support.builders import gang, gang_key, group


@pytest.mark.parametrize(
    ("min_member", "bound", "quorum"), [(4, 0, 4), (4, 3, 1), (4, 4, 0), (4, 9, 0), (1, 0, 1)]
)
def test_the_quorum_is_what_is_missing(min_member: int, bound: int, quorum: int) -> None:
    found = gang("a", pods=6, min_member=min_member, bound=bound)

    assert quorum == found.quorum


def test_members_of_a_gang_that_was_whole_once_are_placed_each_for_itself() -> None:
    lost = gang("a", pods=2, min_member=6, bound=4, satisfied=True)

    assert (2, True) == (lost.quorum, lost.singly)


def test_a_gang_is_written_as_people_write_it() -> None:
    assert "default/a" == str(gang_key("a"))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("policy", "bound", "quorum"),
    [
        ("only-waiting", 0, 4),
        ("only-waiting", 3, 4),
        ("only-waiting", 5, 4),
        ("waiting-and-running", 0, 4),
        ("waiting-and-running", 3, 1),
        ("waiting-and-running", 5, 0),
        ("once-satisfied", 0, 4),
        ("once-satisfied", 3, 1),
        ("once-satisfied", 5, 0),
    ],
)
def test_row_match_policy_before_the_first_quorum(
    policy: str, bound: int, quorum: int, *, strict: bool
) -> None:
    found = gang("a", pods=6, min_member=4, bound=bound, match_policy=policy, strict=strict)

    assert quorum == found.quorum


@pytest.mark.parametrize(
    ("strict", "policy", "quorum", "singly"),
    [
        (True, "only-waiting", 4, False),
        (True, "waiting-and-running", 3, False),
        (True, "once-satisfied", 3, True),
        (False, "only-waiting", 3, True),
        (False, "waiting-and-running", 3, True),
        (False, "once-satisfied", 3, True),
    ],
)
def test_rows_mode_and_match_policy_after_the_first_quorum(
    policy: str, quorum: int, *, strict: bool, singly: bool
) -> None:
    found = gang(
        "a", pods=6, min_member=4, bound=1, satisfied=True, match_policy=policy, strict=strict
    )

    assert (quorum, singly) == (found.quorum, found.singly)


def test_a_group_has_the_lowest_priority_the_oldest_age_and_the_first_uid_of_its_gangs() -> None:
    empty = replace(gang("c", priority=-9, created_at=1, uid="z"), pending=())
    one = gang("b", priority=5, created_at=3, uid="x")
    other = gang("a", priority=2, created_at=4, uid="y")

    found = group(one, other, empty)

    assert ("default/a", (other, one), 2, 1, "x") == (
        found.name,
        found.waiting,
        found.priority,
        found.created_at,
        found.uid,
    )


def test_the_class_of_a_workload_ranks_it_among_the_gangs_of_queues() -> None:
    found = gang("a", priority=5)

    assert (5, 7) == (found.queue_priority, replace(found, class_priority=7).queue_priority)
