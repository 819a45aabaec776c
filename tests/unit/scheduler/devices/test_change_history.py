"""Values that are each made of the one before know what has changed between them."""

from gang_scheduler.scheduler.devices.change_history import MOST_FOLLOWED, ChangeHistory


def test_all_changes_since_an_earlier_value_are_known() -> None:
    first: ChangeHistory[str] = ChangeHistory()
    second = first.followed_by(frozenset("a"))
    third = second.followed_by(frozenset("bc"))

    assert frozenset() == third.since(third)
    assert frozenset("bc") == third.since(second)
    assert frozenset("abc") == third.since(first)


def test_nothing_is_known_of_later_values_and_of_other_lines() -> None:
    first: ChangeHistory[str] = ChangeHistory()
    second = first.followed_by(frozenset("a"))

    assert first.since(second) is None
    assert second.since(ChangeHistory()) is None


def test_after_a_change_of_anything_only_later_changes_are_known() -> None:
    first: ChangeHistory[str] = ChangeHistory()
    anything = first.followed_by(None)
    after = anything.followed_by(frozenset("a"))

    assert after.since(first) is None
    assert frozenset("a") == after.since(anything)


def test_so_many_changes_are_known_and_no_more() -> None:
    lines: list[ChangeHistory[int]] = [ChangeHistory()]
    for i in range(MOST_FOLLOWED + 1):
        lines.append(lines[-1].followed_by(frozenset({i})))

    assert frozenset(range(1, MOST_FOLLOWED + 1)) == lines[-1].since(lines[1])
    assert lines[-1].since(lines[0]) is None


def test_nothing_is_known_of_another_value_that_was_made_of_the_same_one() -> None:
    first: ChangeHistory[str] = ChangeHistory()
    one, other = first.followed_by(frozenset("a")), first.followed_by(frozenset("b"))

    assert one.since(other) is None
    assert other.followed_by(frozenset("c")).since(one) is None
    assert frozenset("b") == other.since(first)
