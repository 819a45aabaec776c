"""What a label says, and what it says beyond its bound."""

from gang_scheduler.telemetry.family import Closed, Limited


def test_a_closed_list_has_no_other_values() -> None:
    assert ("a", "_other") == (Closed(("a",)).shown("a"), Closed(("a",)).shown("b"))


def test_the_first_values_are_shown_and_the_others_are_one() -> None:
    bound = Limited(2, other="other")

    assert ["a", "b", "other", "a"] == [bound.shown(each) for each in ("a", "b", "c", "a")]


def test_a_value_that_is_not_kept_makes_room() -> None:
    bound = Limited(1)
    bound.shown("a")

    assert {"a"} == bound.keep(["b"])
    assert "b" == bound.shown("b")
