"""Tables of many lines."""

import pytest

from gang_scheduler.inspection.listing import plain_table
from gang_scheduler.inspection.listing.plain_table import Page


def test_columns_are_as_wide_as_they_must_be_and_numbers_right() -> None:
    lines = plain_table.lines(("A", "N", "B"), [["a", "10", "x"], ["bb", "1", "y"]], Page(), ("N",))

    assert ["A    N  B", "a   10  x", "bb   1  y"] == [*lines]


def test_only_the_last_column_is_cut() -> None:
    (_, line) = plain_table.lines(("A", "B"), [["a" * 30, "b" * 100]], Page(width=60))

    assert f"{'a' * 30}  {'b' * 25}..." == line


def test_a_last_column_keeps_a_part_however_narrow_the_page() -> None:
    (_, line) = plain_table.lines(("A", "B"), [["a" * 30, "b" * 100]], Page(width=10))

    assert plain_table.LEAST == len(line) - 32


def test_columns_that_say_nothing_are_left_out() -> None:
    rows = [["a", "-", "-"], ["b", "-", "x"]]

    assert (["A", "C"], [["a", "-"], ["b", "x"]]) == plain_table.without_silent(
        ("A", "B", "C"), rows, ("B", "C")
    )


def test_without_rows_and_headers_there_is_nothing() -> None:
    assert [] == [*plain_table.lines(("A",), [], Page(headers=False))]


def test_what_no_terminal_shows_is_cut_only_where_columns_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert plain_table.UNCUT == plain_table.page_width(terminal=False)
    assert 100 == plain_table.page_width(terminal=False, piped=100)
    for given, width in (("60", 60), ("0", plain_table.UNCUT), ("wide", plain_table.UNCUT)):
        monkeypatch.setenv("COLUMNS", given)
        assert width == plain_table.page_width(terminal=False)


def test_a_terminal_is_as_wide_as_columns_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")

    assert 70 == plain_table.page_width(terminal=True)
