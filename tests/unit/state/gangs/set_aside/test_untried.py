"""Gangs that were left by cycles: when they are tried."""

from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.set_aside import MOST_AT_ONCE, PATIENCE_SECONDS, Untried

NOW = 1000
LATER = NOW + PATIENCE_SECONDS


def key(name: str, namespace: str = "default") -> GangKey:
    return GangKey("PodGroup", namespace, name)


def turn(untried: Untried, now: int = LATER) -> list[str]:
    return sorted(f"{each.namespace}/{each.name}" for each in untried.own_turn(now))


def left(*keys: GangKey, since: int = NOW) -> Untried:
    untried = Untried()
    untried.leave(keys, since)
    return untried


def test_what_was_left_for_long_has_every_other_cycle_one_gang_of_each_namespace() -> None:
    untried = left(key("a"), key("b"), key("c", "other"))

    assert ["default/a", "other/c"] == turn(untried)
    untried.take([key("a"), key("c", "other")])
    untried.leave([], LATER)
    assert [] == turn(untried)
    assert ["default/b"] == turn(untried)


def test_what_was_not_left_for_long_has_no_cycle_of_its_own() -> None:
    assert [] == turn(left(key("a")), LATER - 1)


def test_the_gang_of_a_namespace_that_was_left_longest_comes_first() -> None:
    untried = left(key("b"))
    untried.leave([key("a")], NOW + 1)

    assert ["default/b"] == turn(untried, LATER + 1)


def test_a_gang_that_is_left_again_by_a_cycle_that_was_to_try_it_was_left_since_the_first() -> None:
    untried = left(key("a"))
    untried.take([key("a")])
    untried.leave([key("a")], LATER)

    assert ["default/a"] == turn(untried)


def test_a_gang_that_was_tried_has_been_left_since_no_earlier_time() -> None:
    untried = left(key("a"))
    untried.take([key("a")])
    untried.leave([], LATER)
    untried.leave([key("a")], LATER)

    assert [] == turn(untried)


def test_a_gang_whose_try_was_put_off_keeps_its_time() -> None:
    untried = left(key("a"))
    untried.take([key("a")])
    untried.put_back([key("a"), key("new")])
    untried.leave([], LATER)

    assert ["default/a"] == turn(untried)


def test_so_many_gangs_have_a_cycle_of_their_own_at_most() -> None:
    untried = left(*(key("a", f"n{i}") for i in range(MOST_AT_ONCE + 1)))

    assert MOST_AT_ONCE == len(turn(untried))


def test_a_cycle_is_due_at_once_while_gangs_are_left_and_after_one_of_their_own() -> None:
    untried = left(key("a"))

    assert untried.is_due_at_once
    turn(untried)
    untried.take([key("a")])
    untried.leave([], LATER)
    # What has changed meanwhile was not tried in it.
    assert untried.is_due_at_once
    turn(untried)
    assert not untried.is_due_at_once


def test_a_gang_that_is_gone_is_left_no_more() -> None:
    untried = left(key("a"))
    untried.forget(key("a"))

    assert not untried
