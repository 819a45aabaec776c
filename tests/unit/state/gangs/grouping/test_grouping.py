"""Gang groups: row `groups` of the contract's table on annotations."""

import pytest

from gang_scheduler.report.words.messages import describe
from support.builders import gang_key
from support.gang_groups import groups, naming, two
from support.in_memory_cluster import InMemoryCluster, group_body

FIELD = "metadata.annotations[gang.scheduling.koordinator.sh/groups]"


def test_a_gang_is_due_once_though_one_of_its_group_ends_at_the_same_time() -> None:
    cluster = InMemoryCluster()
    cluster.gang("b", 1, groups=naming("default/b", "default/z"))
    cluster.gang("z", 1)
    assert {"b-0", "z-0"} == cluster.bound()

    cluster.pod("b-0", "b")
    cluster.end("z-0", "Succeeded")

    assert [("default/b",)] == groups(cluster)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_group_is_not_bound_in_part(room: int) -> None:
    cluster = InMemoryCluster(room)
    two(cluster)

    assert set() == cluster.bound()


def test_a_group_is_bound_whole_each_gang_with_its_own_minimum() -> None:
    cluster = InMemoryCluster(3)
    two(cluster)
    cluster.pod("a-surplus", "a")

    assert {"a-0", "a-1", "b-0"} == cluster.bound()


def test_the_other_gangs_of_a_refused_group_say_whose_fault_it_is() -> None:
    cluster = InMemoryCluster(2)
    two(cluster)

    refused = {each.gang.key.name: each for each in cluster.cycle().refused}

    assert {"a", "b"} == set(refused)
    for each in refused.values():
        assert "Unschedulable" == each.reason
    (blamed,) = [name for name, each in refused.items() if each.misfit]
    (other,) = {"a", "b"} - {blamed}
    beginning = f"Gang default/{blamed}, which starts with it, does not fit. "
    beginning += 'GangGroup "default/a" gets rejected due to member Pod "default/'
    assert describe(refused[other]).startswith(beginning + blamed)


def test_row_groups_across_namespaces_both_sides_name_each_other() -> None:
    cluster = InMemoryCluster(2)
    cluster.gang("a", 1, namespace="one", groups=naming("two/b"))
    cluster.gang("b", 1, namespace="two", groups=naming("one/a"))

    assert [("one/a", "two/b")] == groups(cluster)


def test_row_groups_across_namespaces_one_side_is_invalid_and_binds_no_other_gang() -> None:
    cluster = InMemoryCluster(9)
    cluster.gang("a", 1, namespace="one", groups=naming("two/b"))
    cluster.gang("b", 1, namespace="two")

    plan = cluster.cycle()

    assert ["two/b"] == [str(each.gang.key) for each in plan.placed]
    (refused,) = plan.refused
    assert ("one/a", "InvalidSpec") == (str(refused.gang.key), refused.reason)
    assert FIELD in describe(refused)
    assert "two/b" in describe(refused)


def test_a_foreign_gang_that_names_ours_in_turn_makes_it_whole() -> None:
    cluster = InMemoryCluster(9)
    cluster.gang("a", 1, namespace="one", groups=naming("two/b"))
    cluster.put(group_body("b", 2, "two"))
    cluster.cycle()

    cluster.put(group_body("b", 2, "two", groups=naming("one/a")))
    first = cluster.bound()
    cluster.members("b", 2, namespace="two")

    assert set() == first
    assert {"a-0", "b-0", "b-1"} == cluster.bound()


def test_a_foreign_gang_that_does_not_exist_is_waited_for() -> None:
    cluster = InMemoryCluster(9)
    cluster.gang("a", 1, namespace="one", groups=naming("two/b"))

    assert "WaitingForGangs" == cluster.waits("a")[0]


def test_a_named_gang_that_does_not_exist_is_waited_for() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, groups=naming("default/b"))
    before = cluster.waits("a")
    cluster.gang("b", 1)

    expected = "gang default/b, which default/a names as one of its group, does not exist"
    assert ("WaitingForGangs", expected) == before
    assert {"a-0", "a-1", "b-0"} == cluster.bound()


def test_pods_alone_of_that_name_are_no_gang() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, groups=naming("default/b"))
    cluster.pod("b")

    assert {"b"} == cluster.bound()


@pytest.mark.parametrize("pods", [0, 1])
def test_the_gang_without_members_has_its_own_reason_and_the_others_wait_for_it(pods: int) -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1, groups=naming("default/b"))
    cluster.gang("b", 2, pods=pods)

    refused = {each.gang.key.name: each.reason for each in cluster.cycle().refused}

    assert {"a": "WaitingForGangs", **({"b": "WaitingForMembers"} if pods else {})} == refused
    cluster.members("b", 2)
    assert {"a-0", "b-0", "b-1"} == cluster.bound()


def test_an_invalid_gang_holds_its_group_and_no_other_gang() -> None:
    cluster = InMemoryCluster()
    two(cluster, b="nonsense")
    cluster.gang("c", 1)

    plan = cluster.cycle()

    assert ["c"] == [each.gang.key.name for each in plan.placed]
    assert {"a": "WaitingForGangs", "b": "InvalidSpec"} == {
        each.gang.key.name: each.reason for each in plan.refused
    }


def test_a_gang_of_a_group_that_is_deleted_is_waited_for_by_the_gang_that_names_it() -> None:
    cluster = InMemoryCluster(2)
    two(cluster)
    cluster.cycle()

    cluster.delete(group_body("b", 1))
    cluster.gone("b-0")

    assert "WaitingForGangs" == cluster.waits("a")[0]


def test_a_gang_of_a_group_that_is_deleted_and_named_by_no_gang_is_missed_by_none() -> None:
    cluster = InMemoryCluster(2)
    two(cluster, a="[]", b=naming("default/a"))
    before = cluster.bound()

    cluster.delete(group_body("b", 1))
    cluster.gone("b-0")

    assert (set(), {"a-0", "a-1"}) == (before, cluster.bound())


def test_a_group_that_shrinks_while_it_waits() -> None:
    cluster = InMemoryCluster(2)
    two(cluster)
    before = cluster.bound()

    cluster.put(group_body("a", 2, groups="[]"))

    assert set() == before
    assert cluster.bound() in ({"a-0", "a-1"}, {"b-0"})


def test_a_group_that_grows_while_it_waits() -> None:
    cluster = InMemoryCluster(2)
    two(cluster)
    cluster.cycle()

    cluster.gang("c", 1, groups=naming("default/a"))
    cluster.room(3)
    before = cluster.bound(later=100)
    cluster.room(4)

    assert set() == before
    assert {"a-0", "a-1", "b-0", "c-0"} == cluster.bound(later=100)


def test_the_order_of_a_group_is_one_key_the_lowest_priority_and_the_oldest_gang() -> None:
    cluster = InMemoryCluster(2)
    two(cluster, a=naming("default/b"))
    for name in ("a-0", "a-1", "b-0"):
        cluster.change(name, spec={"priority": 1 if name == "b-0" else 9})
    cluster.gang("single", 1)
    cluster.change("single-0", spec={"priority": 5})
    cluster.room(3)

    plan = cluster.cycle()

    assert ["single"] == [each.gang.key.name for each in plan.placed]
    (group,) = {each.gang.priority for each in plan.refused if each.gang.key.name == "b"}
    assert 1 == group


def test_a_gang_that_runs_is_no_business_of_its_group_any_more() -> None:
    cluster = InMemoryCluster(3)
    two(cluster)
    cluster.cycle()
    cluster.cycle()

    cluster.end("a-0")
    cluster.pod("a-0", "a")

    assert {"a-0"} == cluster.bound()


def test_a_gang_that_names_one_that_runs_starts_without_it() -> None:
    cluster = InMemoryCluster()
    cluster.gang("b", 1)
    cluster.cycle()
    cluster.cycle()

    cluster.gang("a", 2, groups=naming("default/b"))

    assert {"a-0", "a-1"} == cluster.bound()


def test_a_gang_that_names_one_that_has_ended_well_starts_without_it() -> None:
    cluster = InMemoryCluster()
    cluster.gang("b", 1)
    cluster.cycle()
    cluster.cycle()
    cluster.end("b-0", "Succeeded")

    cluster.gang("a", 2, groups=naming("default/b"))

    assert {"a-0", "a-1"} == cluster.bound()


def test_annotation_gangs_can_be_a_group() -> None:
    cluster = InMemoryCluster(3)
    cluster.annotated("a", 2, groups=naming("default/b"))
    before = cluster.bound()
    cluster.annotated("b", 1)

    assert (set(), {"a-0", "a-1", "b-0"}) == (before, cluster.bound())


def test_a_group_may_mix_sources() -> None:
    cluster = InMemoryCluster(2)
    cluster.gang("a", 2, groups=naming("default/b"))
    cluster.annotated("b", 1)
    before = cluster.bound()
    cluster.room(3)

    assert (set(), {"a-0", "a-1", "b-0"}) == (before, cluster.bound())


def test_what_is_forgotten_leaves_nothing_behind() -> None:
    cluster = InMemoryCluster()
    two(cluster)
    cluster.cycle()

    for name in ("a-0", "a-1", "b-0"):
        cluster.gone(name)
    for body in (group_body("a", 2), group_body("b", 1)):
        cluster.delete(body)
    cluster.cycle(later=100)

    assert {} == cluster.cache.gang_queue.infos
    assert gang_key("a") not in cluster.cache.gang_queue.changed
