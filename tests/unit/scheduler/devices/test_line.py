"""Values that are each made of the one before know what has changed between them."""

from gang_scheduler.scheduler.devices.line import MOST_FOLLOWED, Line


def test_all_changes_since_an_earlier_value_are_known() -> None:
    first: Line[str] = Line()
    second = first.then(frozenset("a"))
    third = second.then(frozenset("bc"))

    assert frozenset() == third.since(third)
    assert frozenset("bc") == third.since(second)
    assert frozenset("abc") == third.since(first)


def test_nothing_is_known_of_later_values_and_of_other_lines() -> None:
    first: Line[str] = Line()
    second = first.then(frozenset("a"))

    assert first.since(second) is None
    assert second.since(Line()) is None


def test_after_a_change_of_anything_only_later_changes_are_known() -> None:
    first: Line[str] = Line()
    anything = first.then(None)
    after = anything.then(frozenset("a"))

    assert after.since(first) is None
    assert frozenset("a") == after.since(anything)


def test_so_many_changes_are_known_and_no_more() -> None:
    lines: list[Line[int]] = [Line()]
    for i in range(MOST_FOLLOWED + 1):
        lines.append(lines[-1].then(frozenset({i})))

    assert frozenset(range(1, MOST_FOLLOWED + 1)) == lines[-1].since(lines[1])
    assert lines[-1].since(lines[0]) is None


def test_nothing_is_known_of_another_value_that_was_made_of_the_same_one() -> None:
    first: Line[str] = Line()
    one, other = first.then(frozenset("a")), first.then(frozenset("b"))

    assert one.since(other) is None
    assert other.then(frozenset("c")).since(one) is None
    assert frozenset("b") == other.since(first)
