"""Tables of many lines."""

import pytest

from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.report.words.text import shortened


def test_columns_are_as_wide_as_they_must_be_and_numbers_right() -> None:
    lines = table_layout.table_lines(
        ("A", "N", "B"), [["a", "10", "x"], ["bb", "1", "y"]], Page(), ("N",)
    )

    assert ["A    N  B", "a   10  x", "bb   1  y"] == [*lines]


def test_the_last_column_is_cut_before_any_other() -> None:
    (_, line) = table_layout.table_lines(("A", "B"), [["a" * 30, "b" * 100]], Page(width=70))

    assert f"{'a' * 30}  {'b' * 35}..." == line


def test_a_last_column_keeps_a_part_however_narrow_the_page() -> None:
    (_, line) = table_layout.table_lines(("A", "B"), [["a" * 30, "b" * 100]], Page(width=10))

    assert table_layout.LEAST == len(line) - len("  ") - table_layout.LEAST_NAME


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (0, "NAME N M LAST"),
        (200, "NAME N M LAST"),
        (58, "NAME N M LAST"),
        (57, "NAME N LAST"),
        (50, "NAME N LAST"),
        (49, "NAME LAST"),
        (1, "NAME LAST"),
    ],
)
def test_columns_go_by_their_rank_where_the_page_is_too_narrow(width: int, headings: str) -> None:
    row = ["some-name", "12345", "123456", "l" * 40]
    heads = ("NAME", "N", "M", "LAST")
    first, _ = table_layout.table_lines(heads, [row], Page(width=width), ("N", "M"), ("M", "N"))

    assert headings.split() == first.split()


@pytest.mark.parametrize("width", range(46, 140))
def test_no_line_is_wider_than_the_page(width: int) -> None:
    rows = [
        ["namespace/llama-pretrain-2026-11-27-0001", "queue-of-a-team", "12", "why " * 30],
        ["n/a", "-", "1", "-"],
    ]
    heads = ("GANG", "QUEUE", "PRI", "REASON")

    lines = [*table_layout.table_lines(heads, rows, Page(width=width), ("PRI",), ("PRI", "QUEUE"))]

    assert width >= max(map(len, lines))
    assert lines[1].split()[0].endswith("0001")


def test_a_name_is_shortened_in_its_middle() -> None:
    assert "research...in-0001" == shortened("research/llama-pretrain-0001", 18)
    assert "    l...ny-r" == shortened("    leader-of-many-r", 12)


def test_colours_follow_the_columns_that_are_left() -> None:
    page = Page(width=40, paint=lambda column, text: f"{column}{text}")
    _, line = table_layout.table_lines(("A", "B", "C"), [["a" * 9, "b" * 9, "c"]], page, (), ("B",))
    narrow = Page(width=20, paint=page.paint)
    _, short = table_layout.table_lines(
        ("A", "B", "C"), [["a" * 9, "b" * 9, "c"]], narrow, (), ("B",)
    )

    assert ["0aaaaaaaaa", "1bbbbbbbbb", "2c"] == line.split()
    assert ["0aaaaaaaaa", "2c"] == short.split()


def test_columns_that_say_nothing_are_left_out() -> None:
    rows = [["a", "-", "-"], ["b", "-", "x"]]

    assert (["A", "C"], [["a", "-"], ["b", "x"]]) == table_layout.without_silent(
        ("A", "B", "C"), rows, ("B", "C")
    )


def test_without_rows_and_headers_there_is_nothing() -> None:
    assert [] == [*table_layout.table_lines(("A",), [], Page(headers=False))]


def test_what_no_terminal_shows_is_cut_only_where_columns_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert table_layout.UNCUT == table_layout.page_width(terminal=False)
    assert 100 == table_layout.page_width(terminal=False, piped=100)
    for given, width in (("60", 60), ("0", table_layout.UNCUT), ("wide", table_layout.UNCUT)):
        monkeypatch.setenv("COLUMNS", given)
        assert width == table_layout.page_width(terminal=False)


def test_a_terminal_is_as_wide_as_columns_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")

    assert 70 == table_layout.page_width(terminal=True)
