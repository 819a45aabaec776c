"""The file of the page's history: what is written is read again, whatever ends the page."""

import stat
from pathlib import Path

import pytest

from gang_scheduler.page import history_file
from gang_scheduler.page.history_file import (
    ChangeLine,
    DecisionLine,
    HistoryFile,
    Line,
    ReadingLine,
    UnusableHistoryError,
)

LINES: list[Line] = [
    ReadingLine(60, (8, 4, 2)),
    ReadingLine(120),
    DecisionLine(namespace="team", name="a", reason="Scheduled", note="to node-0", first=50),
    ChangeLine(60, "PodGroup", "team", "a", "Running"),
]


def written(path: Path, lines: list[Line] = LINES, cluster: str = "here") -> None:
    file = HistoryFile(path, cluster)
    file.rewrite(lines)
    file.close()


def read(path: Path, cluster: str = "here") -> list[Line]:
    file = HistoryFile(path, cluster)
    file.close()
    return file.lines


def test_lines_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "history"
    written(path, LINES[:2])
    file = HistoryFile(path, "here")
    file.append(LINES[2:])
    file.close()

    assert LINES == read(path)


def test_a_file_that_is_not_there_or_is_empty_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    assert [] == read(tmp_path / "empty")
    assert [] == read(tmp_path / "new")


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    written(tmp_path / "history")

    assert 0o600 == stat.S_IMODE((tmp_path / "history").stat().st_mode)


def test_the_line_that_a_killed_page_was_writing_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "history"
    written(path)
    whole = path.read_bytes()
    last = len(whole.splitlines()[-1])

    for cut in range(1, last + 1):
        path.write_bytes(whole[:-cut])
        assert LINES[:-1] == read(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a word", "it is not the history of a page"),
        (b"a: 1\nb: 2\n", "line 1: JSON is malformed"),
        (b'{"kind":"Reading","at":1}\n', "line 1: it is not the history of a page"),
        (b'{"kind":"PageHistory","version":2,"cluster":"here"}\n', "line 1: version: 2: "),
        (
            b'{"kind":"PageHistory","version":1,"cluster":"here"}\n{"kind":"Reading"}\n\n',
            "line 2: Object missing required field `at`",
        ),
    ],
)
def test_what_is_no_history_is_refused_and_stays(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(content)

    with pytest.raises(UnusableHistoryError, match=why):
        read(path)
    assert content == path.read_bytes()


def test_the_history_of_another_cluster_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "history", cluster="there")

    with pytest.raises(UnusableHistoryError, match="it is the history of there"):
        read(tmp_path / "history")


def test_two_pages_do_not_write_one_file(tmp_path: Path) -> None:
    first = HistoryFile(tmp_path / "history", "here")

    with pytest.raises(UnusableHistoryError, match="another page writes to it"):
        HistoryFile(tmp_path / "history", "here")
    first.close()
    HistoryFile(tmp_path / "history", "here").close()


def test_a_file_is_mostly_old_once_half_of_many_lines_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_file, "LEAST_REWRITTEN", 4)
    file = HistoryFile(tmp_path / "history", "here")
    file.rewrite([])
    file.append(LINES)
    assert not file.is_mostly_old(0)
    file.append(LINES)
    assert file.is_mostly_old(3)
    assert not file.is_mostly_old(4)
    file.close()
