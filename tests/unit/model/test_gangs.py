"""How many members must be placed together."""

from collections import Counter
from dataclasses import replace

import pytest

from gang_scheduler.model.gangs import Gang, Role, RoleCount, hold, place_of
from support.builders import gang, gang_key, group, pod


@pytest.mark.parametrize(
    ("min_member", "bound", "quorum"), [(4, 0, 4), (4, 3, 1), (4, 4, 0), (4, 9, 0), (1, 0, 1)]
)
def test_the_quorum_is_what_is_missing(min_member: int, bound: int, quorum: int) -> None:
    found = gang("a", pods=6, min_member=min_member, bound=bound)

    assert quorum == found.quorum


def test_members_of_a_gang_that_was_whole_once_are_placed_each_for_itself() -> None:
    lost = gang("a", pods=2, min_member=6, bound=4, satisfied=True)

    assert (2, True) == (lost.quorum, lost.placed_singly)


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
    ("strict", "policy", "quorum", "placed_singly"),
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
    policy: str, quorum: int, *, strict: bool, placed_singly: bool
) -> None:
    found = gang(
        "a", pods=6, min_member=4, bound=1, satisfied=True, match_policy=policy, strict=strict
    )

    assert (quorum, placed_singly) == (found.quorum, found.placed_singly)


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


def test_a_group_is_no_older_than_the_last_of_its_quorums() -> None:
    old = replace(gang("a", created_at=3), complete_at=3)
    new = replace(gang("b", created_at=90), complete_at=90)

    assert 90 == group(old, new).created_at


def test_the_class_of_a_workload_ranks_it_among_the_gangs_of_queues() -> None:
    found = gang("a", priority=5)

    assert (5, 7) == (found.queue_priority, replace(found, class_priority=7).queue_priority)


# Roles.


ROLES = (Role("master", 1), Role("worker", 2, 4))


def in_roles(waiting: str, bound: str = "") -> Gang:
    """Return a gang with members that wait and bound ones, each by the first letter of its role."""
    names = {"m": "master", "w": "worker"}
    members = [replace(pod(f"p-{i}", gang="a"), role=names[each]) for i, each in enumerate(waiting)]
    by_role = tuple(Counter(names[each] for each in bound).items())
    found = gang("a", members=members, min_member=3, bound=len(bound))
    return replace(found, pending=tuple(members), roles=ROLES, bound_by_role=by_role)


@pytest.mark.parametrize(
    ("waiting", "bound", "lacking", "quorum"),
    [
        ("mww", "", {"master": 1, "worker": 2}, ["p-0", "p-1", "p-2"]),
        ("wwwm", "", {"master": 1, "worker": 2}, ["p-0", "p-1", "p-3"]),
        ("mwwww", "ww", {"master": 1, "worker": 0}, ["p-0"]),
        ("mw", "www", {"master": 1, "worker": 0}, ["p-0"]),
        ("w", "mw", {"master": 0, "worker": 1}, ["p-0"]),
        ("mw", "mww", {"master": 0, "worker": 0}, []),
    ],
)
def test_a_quorum_has_what_lacks_of_each_role(
    waiting: str, bound: str, lacking: dict[str, int], quorum: list[str]
) -> None:
    found = in_roles(waiting, bound)

    assert lacking == found.quorum_by_role
    assert sum(lacking.values()) == found.lacking == found.quorum
    assert {f"uid-{each}" for each in quorum} == found.quorum_among(found.pending)


def test_bound_members_of_a_role_are_no_quorum_of_those_that_wait_if_only_these_count() -> None:
    found = gang("a", members=in_roles("mww").pending, match_policy="only-waiting")
    found = replace(found, roles=ROLES, bound=2, bound_by_role=(("worker", 2),))

    assert {"master": 1, "worker": 2} == found.quorum_by_role


@pytest.mark.parametrize(
    ("waiting", "bound", "missing"),
    [
        ("www", "", (RoleCount("master", 0, 1),)),
        ("w", "w", (RoleCount("master", 0, 1),)),
        ("", "", (RoleCount("master", 0, 1), RoleCount("worker", 0, 2))),
        ("mw", "", (RoleCount("worker", 1, 2),)),
        ("mww", "", ()),
        ("w", "mw", ()),
    ],
)
def test_the_roles_that_lack_members_are_named(
    waiting: str, bound: str, missing: tuple[RoleCount, ...]
) -> None:
    found = in_roles(waiting, bound)

    assert missing == found.missing
    assert (not missing) == found.complete


def test_members_beyond_the_most_of_their_role_are_not_started() -> None:
    found = in_roles("wwmmm", "www")

    assert ["p-0", "p-2", "p-3", "p-4"] == [each.name for each in found.startable]
    assert found.pending == replace(found, roles=()).startable
    assert ROLES[1] == found.full_role()
    assert in_roles("mmw", "www").full_role() is None


def test_members_are_a_quorum_by_role() -> None:
    assert hold(in_roles("wmw").pending, ROLES)
    assert not hold(in_roles("www").pending, ROLES)


def test_a_role_that_a_gang_does_not_have_comes_last() -> None:
    members = [replace(pod("p"), role=role) for role in ("worker", "master", "other", "")]

    assert [1, 0, 2, 2] == [place_of(each, ROLES) for each in members]
