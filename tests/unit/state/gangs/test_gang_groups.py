"""Gang groups: row `groups` of the contract's table on annotations."""

import json

import pytest

from builders import gang_key
from towns import Town, group_body

FIELD = "metadata.annotations[gang.scheduling.koordinator.sh/groups]"


def naming(*names: str) -> str:
    return json.dumps(names)


def groups(town: Town) -> list[tuple[str, ...]]:
    """Return the groups that are due, by the names of their gangs."""
    due = town.cache.snapshot(town.now).groups
    return sorted(tuple(str(each.key) for each in group.gangs) for group in due)


def two(town: Town, a: str = naming("default/b"), b: str = "[]") -> None:
    """Add gangs `a` of two members and `b` of one, with what they name."""
    town.gang("a", 2, groups=a)
    town.gang("b", 1, groups=b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (naming("default/b"), naming("default/a")),
        (naming("default/b"), "[]"),
        ("[]", naming("default/a")),
        (naming("default/a", "default/b"), naming("default/b", "default/a")),
        (naming("default/b", "default/b"), "[]"),
    ],
)
def test_row_groups_inside_a_namespace_any_member_may_declare_it(a: str, b: str) -> None:
    town = Town()
    two(town, a, b)

    assert [("default/a", "default/b")] == groups(town)


def test_row_groups_the_group_is_the_union() -> None:
    town = Town()
    town.gang("a", 1, groups=naming("default/b"))
    town.gang("b", 1)
    town.gang("c", 1, groups=naming("default/b"))
    town.gang("d", 1, groups=naming("default/c"))
    town.gang("apart", 1)

    union = ("default/a", "default/b", "default/c", "default/d")
    assert [union, ("default/apart",)] == groups(town)


def test_row_groups_alone_is_the_default() -> None:
    town = Town()
    two(town, a="[]")

    assert [("default/a",), ("default/b",)] == groups(town)


def test_a_gang_is_due_once_though_one_of_its_group_ends_at_the_same_time() -> None:
    town = Town()
    town.gang("b", 1, groups=naming("default/b", "default/z"))
    town.gang("z", 1)
    assert {"b-0", "z-0"} == town.bound()

    town.pod("b-0", "b")
    town.end("z-0", "Succeeded")

    assert [("default/b",)] == groups(town)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_group_is_not_bound_in_part(room: int) -> None:
    town = Town(room)
    two(town)

    assert set() == town.bound()


def test_a_group_is_bound_whole_each_gang_with_its_own_minimum() -> None:
    town = Town(3)
    two(town)
    town.pod("a-surplus", "a")

    assert {"a-0", "a-1", "b-0"} == town.bound()


def test_the_other_gangs_of_a_refused_group_say_whose_fault_it_is() -> None:
    town = Town(2)
    two(town)

    refused = {each.gang.key.name: each for each in town.cycle().refused}

    assert {"a", "b"} == set(refused)
    for each in refused.values():
        assert "Unschedulable" == each.reason
    (blamed,) = [name for name, each in refused.items() if each.misfit]
    (other,) = {"a", "b"} - {blamed}
    beginning = 'GangGroup "default/a" gets rejected due to member Pod "default/'
    assert refused[other].detail.startswith(beginning + blamed)


def test_row_groups_across_namespaces_both_sides_name_each_other() -> None:
    town = Town(2)
    town.gang("a", 1, namespace="one", groups=naming("two/b"))
    town.gang("b", 1, namespace="two", groups=naming("one/a"))

    assert [("one/a", "two/b")] == groups(town)


def test_row_groups_across_namespaces_one_side_is_invalid_and_binds_nobody_else() -> None:
    town = Town(9)
    town.gang("a", 1, namespace="one", groups=naming("two/b"))
    town.gang("b", 1, namespace="two")

    plan = town.cycle()

    assert ["two/b"] == [str(each.gang.key) for each in plan.placed]
    (refused,) = plan.refused
    assert ("one/a", "InvalidSpec") == (str(refused.gang.key), refused.reason)
    assert FIELD in refused.detail
    assert "two/b" in refused.detail


def test_a_foreign_gang_that_names_ours_in_turn_makes_it_whole() -> None:
    town = Town(9)
    town.gang("a", 1, namespace="one", groups=naming("two/b"))
    town.put(group_body("b", 2, "two"))
    town.cycle()

    town.put(group_body("b", 2, "two", groups=naming("one/a")))
    first = town.bound()
    town.members("b", 2, namespace="two")

    assert set() == first
    assert {"a-0", "b-0", "b-1"} == town.bound()


def test_a_foreign_gang_that_does_not_exist_is_waited_for() -> None:
    town = Town(9)
    town.gang("a", 1, namespace="one", groups=naming("two/b"))

    assert "WaitingForGangs" == town.waits("a")[0]


def test_a_named_gang_that_does_not_exist_is_waited_for() -> None:
    town = Town()
    town.gang("a", 2, groups=naming("default/b"))
    before = town.waits("a")
    town.gang("b", 1)

    expected = "gang default/b, which default/a names as one of its group, does not exist"
    assert ("WaitingForGangs", expected) == before
    assert {"a-0", "a-1", "b-0"} == town.bound()


def test_pods_alone_of_that_name_are_no_gang() -> None:
    town = Town()
    town.gang("a", 2, groups=naming("default/b"))
    town.pod("b")

    assert {"b"} == town.bound()


@pytest.mark.parametrize("pods", [0, 1])
def test_the_gang_without_members_has_its_own_reason_and_the_others_wait_for_it(pods: int) -> None:
    town = Town()
    town.gang("a", 1, groups=naming("default/b"))
    town.gang("b", 2, pods=pods)

    refused = {each.gang.key.name: each.reason for each in town.cycle().refused}

    assert {"a": "WaitingForGangs", **({"b": "WaitingForMembers"} if pods else {})} == refused
    town.members("b", 2)
    assert {"a-0", "b-0", "b-1"} == town.bound()


def test_an_invalid_gang_holds_its_group_and_nobody_else() -> None:
    town = Town()
    two(town, b="nonsense")
    town.gang("c", 1)

    plan = town.cycle()

    assert ["c"] == [each.gang.key.name for each in plan.placed]
    assert {"a": "WaitingForGangs", "b": "InvalidSpec"} == {
        each.gang.key.name: each.reason for each in plan.refused
    }


def test_a_gang_of_a_group_that_is_deleted_is_waited_for_by_who_names_it() -> None:
    town = Town(2)
    two(town)
    town.cycle()

    town.delete(group_body("b", 1))
    town.gone("b-0")

    assert "WaitingForGangs" == town.waits("a")[0]


def test_a_gang_of_a_group_that_is_deleted_and_named_by_nobody_is_missed_by_nobody() -> None:
    town = Town(2)
    two(town, a="[]", b=naming("default/a"))
    before = town.bound()

    town.delete(group_body("b", 1))
    town.gone("b-0")

    assert (set(), {"a-0", "a-1"}) == (before, town.bound())


def test_a_group_that_shrinks_while_it_waits() -> None:
    town = Town(2)
    two(town)
    before = town.bound()

    town.put(group_body("a", 2, groups="[]"))

    assert set() == before
    assert town.bound() in ({"a-0", "a-1"}, {"b-0"})


def test_a_group_that_grows_while_it_waits() -> None:
    town = Town(2)
    two(town)
    town.cycle()

    town.gang("c", 1, groups=naming("default/a"))
    town.room(3)
    before = town.bound(later=100)
    town.room(4)

    assert set() == before
    assert {"a-0", "a-1", "b-0", "c-0"} == town.bound(later=100)


def test_the_order_of_a_group_is_one_key_the_lowest_priority_and_the_oldest_gang() -> None:
    town = Town(2)
    two(town, a=naming("default/b"))
    for name in ("a-0", "a-1", "b-0"):
        town.change(name, spec={"priority": 1 if name == "b-0" else 9})
    town.gang("single", 1)
    town.change("single-0", spec={"priority": 5})
    town.room(3)

    plan = town.cycle()

    assert ["single"] == [each.gang.key.name for each in plan.placed]
    (group,) = {each.gang.priority for each in plan.refused if each.gang.key.name == "b"}
    assert 1 == group


def test_a_gang_that_runs_is_no_business_of_its_group_any_more() -> None:
    town = Town(3)
    two(town)
    town.cycle()
    town.cycle()

    town.end("a-0")
    town.pod("a-0", "a")

    assert {"a-0"} == town.bound()


def test_a_gang_that_names_one_that_runs_starts_without_it() -> None:
    town = Town()
    town.gang("b", 1)
    town.cycle()
    town.cycle()

    town.gang("a", 2, groups=naming("default/b"))

    assert {"a-0", "a-1"} == town.bound()


def test_a_gang_that_names_one_that_has_ended_well_starts_without_it() -> None:
    town = Town()
    town.gang("b", 1)
    town.cycle()
    town.cycle()
    town.end("b-0", "Succeeded")

    town.gang("a", 2, groups=naming("default/b"))

    assert {"a-0", "a-1"} == town.bound()


def test_annotation_gangs_can_be_a_group() -> None:
    town = Town(3)
    town.annotated("a", 2, groups=naming("default/b"))
    before = town.bound()
    town.annotated("b", 1)

    assert (set(), {"a-0", "a-1", "b-0"}) == (before, town.bound())


def test_a_group_may_mix_sources() -> None:
    town = Town(2)
    town.gang("a", 2, groups=naming("default/b"))
    town.annotated("b", 1)
    before = town.bound()
    town.room(3)

    assert (set(), {"a-0", "a-1", "b-0"}) == (before, town.bound())


def test_what_is_forgotten_leaves_nothing_behind() -> None:
    town = Town()
    two(town)
    town.cycle()

    for name in ("a-0", "a-1", "b-0"):
        town.gone(name)
    for body in (group_body("a", 2), group_body("b", 1)):
        town.delete(body)
    town.cycle(later=100)

    assert {} == town.cache.gangs.records
    assert gang_key("a") not in town.cache.gangs.changed


def stuck_with_an_incomplete_gang() -> Town:
    """Return a town in which `b` waits for `a`, which names it and lacks a member."""
    town = Town()
    town.gang("a", 2, pods=1, groups=naming("default/b"))
    town.gang("b", 1)
    assert set() == town.bound()
    return town


def test_who_is_not_named_any_more_is_tried_at_once() -> None:
    town = stuck_with_an_incomplete_gang()

    town.put(group_body("a", 2))

    assert {"b-0"} == town.bound()


def test_who_was_named_by_a_gang_that_is_deleted_is_tried_at_once() -> None:
    town = stuck_with_an_incomplete_gang()

    town.gone("a-0")
    town.delete(group_body("a", 2))

    assert {"b-0"} == town.bound()


def test_who_was_named_by_an_annotation_gang_that_is_gone_is_tried_at_once() -> None:
    town = Town()
    town.annotated("a", 2, groups=naming("default/b"))
    town.gone("a-1")
    town.gang("b", 1)
    before = town.bound()

    town.gone("a-0")

    assert (set(), {"b-0"}) == (before, town.bound())


def test_a_group_is_the_same_from_whichever_gang_it_is_looked_at() -> None:
    town = Town()
    two(town)
    town.annotated("b", 1)

    due = town.cache.snapshot(town.now).groups

    keys = [gang.key for group in due for gang in group.gangs]
    assert sorted(set(keys)) == sorted(keys)


def test_a_name_said_twice_can_be_taken_back() -> None:
    town = Town()
    two(town, naming("default/b", "default/b"))
    town.cycle()

    town.put(group_body("a", 2))

    town.cycle()
