"""What the word list finds in prose, and what it leaves alone."""

from pathlib import Path

import pytest

from tools import prose


def words(text: str) -> list[str]:
    return [word for _, word, _ in prose.in_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Evict whoever costs least.", ["whoever"]),
        ("Nobody waits for him.", ["Nobody", "him"]),
        ("This whole thesis is there.", []),
        ("A user who may create pods, and people who read.", []),
        ("A pod who waits beside a user who reads.", ["who"]),
    ],
)
def test_words_for_persons_are_found_where_none_is_meant(text: str, expected: list[str]) -> None:
    assert expected == words(text)


def test_code_and_addresses_in_markdown_are_not_prose() -> None:
    text = "Say `who` and [this](who.md):\n\n    who waits\n\n```\nnobody\n```\n<!-- his -->\nwho\n"

    assert [(9, "who")] == [each[:2] for each in prose.in_text(prose.of_markdown(text))]


def test_docstrings_and_comments_of_python_are_prose_and_other_strings_are_not() -> None:
    text = '''"""Who waits."""
who = "nobody"  # His room.
WHOM = 1
"""Whom `who` waits for."""
'''

    found = [each[:2] for each in prose.in_text(prose.of_python(text))]

    assert [(1, "Who"), (2, "His"), (4, "Whom")] == found


def test_files_are_named_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("Gangs.\nWho waits?\n")
    (tmp_path / "docs" / "picture.svg").write_text("who")

    found = list(prose.check(["docs"], tmp_path))

    assert ["docs/page.md:2: Who: Who waits?"] == list(map(str, found))


def test_all_that_is_checked_is_there() -> None:
    assert [] == [each for each in prose.ROOTS if not (prose.PROJECT / each).exists()]
