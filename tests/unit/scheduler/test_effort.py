"""How much is searched in a cycle, and how it is shared."""

from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.effort import (
    LEAST,
    LOOKS_A_GANG,
    MOST_LOOKS,
    MOST_OF_ALL,
    MOST_OF_CYCLE,
    OVERRUN,
    PART,
    RESERVED,
    Effort,
    looks,
)
from support.builders import gang_key

SHARE = MOST_LOOKS // PART
GANGS = [gang_key(name) for name in "abcdefgh"]


def use_up(effort: Effort) -> int:
    """Return how many looks the search in hand has."""
    number = 0
    while effort.may_go_on():
        effort.spend(1)
        number += 1
    return number


def test_a_search_has_a_part_of_what_is_left() -> None:
    effort = Effort()

    effort.begin(gang_key("a"))

    assert SHARE == use_up(effort)
    assert effort.cut_off


def test_the_next_one_has_a_part_of_the_rest_and_never_nothing() -> None:
    effort = Effort()
    found = []
    for key in GANGS:
        effort.begin(key)
        found.append(use_up(effort))

    assert [SHARE, (MOST_LOOKS - SHARE) // PART] == found[:2]
    assert LEAST == found[-1]


def test_what_one_does_not_need_is_left_for_others() -> None:
    effort = Effort()
    for key in GANGS:
        effort.begin(key)
        effort.spend(1)
    effort.begin(gang_key("z"))

    assert (MOST_LOOKS - len(GANGS)) // PART == use_up(effort)


def test_a_search_that_goes_on_has_no_new_share() -> None:
    effort = Effort()
    effort.begin(gang_key("a"))
    use_up(effort)
    effort.begin(gang_key("b"))

    effort.begin(gang_key("a"))

    assert not effort.may_go_on()


def test_victims_are_another_search_than_a_place() -> None:
    effort = Effort()
    effort.begin(gang_key("a"))
    use_up(effort)

    effort.begin(gang_key("a"), "victims")

    assert not effort.cut_off
    assert effort.may_go_on()


def test_each_gang_has_its_turn() -> None:
    lucky = set()
    for now in range(1_700_000_000, 1_700_000_100):
        effort = Effort(GANGS, taken_at=now)
        for key in GANGS:
            effort.begin(key)
            if use_up(effort) > SHARE:
                lucky.add(key)

    assert set(GANGS) == lucky


def test_namespaces_take_turns_however_many_gangs_one_has() -> None:
    few, many = GangKey("Pod", "few", "a"), [GangKey("Pod", "many", f"p{i}") for i in range(500)]
    turns = 0
    for now in range(1_700_000_000, 1_700_000_100):
        effort = Effort([*many, few], taken_at=now)
        effort.begin(few)
        turns += use_up(effort) > SHARE

    assert 30 < turns < 70


def test_the_same_moment_gives_the_same_shares() -> None:
    one, other = (Effort(GANGS, taken_at=1_700_000_000) for _ in range(2))

    for key in GANGS:
        one.begin(key)
        other.begin(key)
        assert use_up(one) == use_up(other)


def test_something_may_be_found_beyond_the_share_but_not_without_end() -> None:
    effort = Effort()
    effort.begin(gang_key("a"))
    effort.spend(SHARE + 1)

    assert (False, True) == (effort.may_go_on(), effort.may_begin())
    effort.spend(OVERRUN)
    assert not effort.may_begin()


def test_a_search_far_beyond_its_share_has_overrun_whatever_the_others_have_left() -> None:
    effort = Effort()
    effort.begin(gang_key("a"))
    effort.spend(SHARE + OVERRUN - 1)
    assert (False, False) == (effort.has_overrun(), effort.cut_off)

    effort.spend(1)
    assert (True, True) == (effort.has_overrun(), effort.cut_off)
    effort.begin(gang_key("b"))
    assert not effort.has_overrun()


def test_where_all_is_used_up_nothing_is_begun() -> None:
    effort = Effort()
    effort.spend(MOST_OF_ALL)
    effort.begin(GANGS[0])

    assert SHARE + RESERVED < MOST_OF_ALL
    assert (False, True, True) == (effort.may_begin(), effort.is_used_up(), effort.cut_off)


def test_more_nodes_and_classes_cost_more_looks() -> None:
    assert 2 * looks(5_000) == looks(5_000, classes=2)
    assert looks(8) < looks(5_000) < looks(20_000)


def test_the_extra_looks_of_a_turn_are_there_once_all_others_are_spent() -> None:
    effort = Effort(GANGS)
    turn = next(key for key in GANGS if _extra(key))
    effort.begin(next(key for key in GANGS if key != turn))
    effort.spend(MOST_OF_ALL)
    assert effort.is_used_up()

    effort.begin(turn)

    assert effort.may_begin()
    assert RESERVED == use_up(effort)
    assert effort.is_used_up()


def _extra(key: GangKey) -> bool:
    """Return whether a gang has its turn now."""
    effort = Effort(GANGS)
    effort.begin(key)
    return use_up(effort) > SHARE


def test_a_cycle_is_over_when_its_work_is_done_or_its_searches_are() -> None:
    worked, searched = Effort(), Effort()
    for each in (worked, searched):
        each.begin(GANGS[0])
    worked.count(MOST_OF_CYCLE / 2)
    searched.spend(MOST_LOOKS // 2)

    assert [(False, True)] * 2 == [(e.is_over(), e.is_over(0.5)) for e in (worked, searched)]
    worked.count(MOST_OF_CYCLE / 2)
    searched.spend(MOST_LOOKS // 2)
    assert worked.is_over()
    assert searched.is_over()


def test_other_work_takes_no_looks_from_searches() -> None:
    effort = Effort()
    effort.count(MOST_OF_CYCLE)

    effort.begin(GANGS[0])

    assert SHARE == use_up(effort)


def test_no_work_is_begun_beyond_a_part_and_parts_are_of_what_is_left() -> None:
    effort = Effort()
    effort.count(MOST_OF_CYCLE / 2)

    half = effort.limit_at(0.5)

    assert 0.75 == half
    assert (True, False) == (effort.takes(MOST_OF_CYCLE / 4, half), effort.takes(1, half))
    assert 0.75 * MOST_OF_CYCLE == effort.done


def test_renewed_it_is_as_new() -> None:
    effort = Effort()
    effort.begin(GANGS[0])
    effort.spend(MOST_OF_ALL)
    effort.count(MOST_OF_CYCLE)

    effort.renew()

    assert (0, 0, False) == (effort.spent, effort.done, effort.is_over())
    assert SHARE == use_up(effort)


def test_the_work_of_a_snapshot_counts_and_leaves_a_quarter_for_decisions() -> None:
    few, very_many = Effort(), Effort()

    few.count_snapshot(100)
    very_many.count_snapshot(1_000_000)

    assert 100 * LOOKS_A_GANG == few.done
    assert 0.75 * MOST_OF_CYCLE == very_many.done
    assert not very_many.is_over()
