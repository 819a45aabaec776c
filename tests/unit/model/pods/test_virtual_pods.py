"""Members that are made when they are looked at: equal to pods, and cheap until then."""

from dataclasses import replace

from gang_scheduler.model.pods import Slot, VirtualPods, numbers_by, one_of_each
from support.builders import pod

MASTER = replace(pod("job-master-0"), role="master")
WORKER = replace(pod("job-worker-0"), role="worker")
SLOTS = (Slot(0, "-master-0", (0,)), Slot(1, "-worker-0", (1, 0)), Slot(1, "-worker-1", (1, 1)))


def members() -> VirtualPods:
    return VirtualPods("uid", "job", (MASTER, WORKER), SLOTS)


def test_each_member_has_a_name_and_a_rank_of_its_own() -> None:
    made = members()

    assert ["job-master-0", "job-worker-0", "job-worker-1"] == [each.name for each in made]
    assert ["uid/job-worker-0", "uid/job-worker-1"] == [each.uid for each in made[1:]]
    assert (3, (1, 1), "worker") == (len(made), made[2].rank, made[2].role)


def test_members_are_the_same_ones_until_they_are_released() -> None:
    made = members()
    first = made[0]

    assert made[0] is first
    assert 3 == made.made
    made.release()
    assert 0 == made.made
    assert made[0] == first
    assert made[0] is not first


def test_they_are_counted_without_being_made() -> None:
    made = members()

    assert {"master": 1, "worker": 2} == numbers_by(made, lambda each: each.role)
    assert (MASTER, WORKER) == one_of_each(made)
    assert 0 == made.made
    assert {"worker": 1} == numbers_by([WORKER], lambda each: each.role)


def test_equal_members_are_equal_whatever_was_made_of_them() -> None:
    one, other = members(), members()
    assert one[0].name

    assert one == other
    assert hash(one) == hash(other)
    assert one != other.with_prototypes([MASTER, replace(WORKER, priority=1)])


def test_members_are_sorted_by_the_places_of_their_roles() -> None:
    made = members().sorted_by([1, 0])

    assert ["worker", "worker", "master"] == [each.role for each in made]
