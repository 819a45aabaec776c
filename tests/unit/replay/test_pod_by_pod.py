"""The baseline places pods one by one: gangs hold part of their room, and give up in the end."""

from support.replays import played


def test_a_gang_holds_the_room_of_some_of_its_pods() -> None:
    found = played(["other,0,100,1,8", "a,1,50,2,8", "b,2,10,1,8"], policy="pod-by-pod")

    # `a` holds the second node from 1 on, so `b` has to wait for it.
    assert [(100, 150)] == found.runs("a")
    assert [(150, 160)] == found.runs("b")
    assert 99 * 8 == found.replay.measures.totals.used - found.work()[1]


def test_two_gangs_that_hold_half_of_each_give_up_in_time() -> None:
    rows = ["other,0,100,2,8", "a,1,50,2,8", "b,1,50,2,8", "c,1,3000,1,8"]
    found = played(rows, policy="pod-by-pod")

    assert all(found.life(name).ended is not None for name in ("a", "b", "c"))


def test_a_pod_gets_the_fullest_node_that_it_fits() -> None:
    found = played(["a,0,100,1,6", "b,1,100,1,2", "c,2,100,1,8"], policy="pod-by-pod")

    assert 0 == found.life("c").wait(found.replay.now)
