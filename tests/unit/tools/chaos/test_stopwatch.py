"""Times of a replica, in a file that outlives it."""

import time
from pathlib import Path

import pytest

from tools.chaos import report, stopwatch
from tools.chaos.stopwatch import CYCLE, HANDLER, PAUSE, Stopwatch


def test_a_call_is_recorded_also_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "times"

    def fails(*, busy: bool) -> None:
        assert busy
        time.sleep(0.01)
        raise KeyError

    with pytest.raises(KeyError):
        Stopwatch(path).timed(HANDLER, fails)(busy=True)

    (row,) = stopwatch.rows([path])
    assert (row.name, row.number) == ("handler of an event", 1)
    assert row.longest >= 10 > row.longest_cpu >= 0


def test_a_pause_without_work_takes_no_cpu(tmp_path: Path) -> None:
    seen: list[float] = []
    path = tmp_path / "times"

    Stopwatch(path).observing(seen.append)(60.0)

    (row,) = stopwatch.rows([path])
    assert seen == [60.0]
    assert row.longest == 60_000
    assert row.longest_cpu < 60_000


def test_shares_are_of_all_replicas(tmp_path: Path) -> None:
    for replica in range(2):
        file = tmp_path / str(replica)
        cycles = range(500 * replica, 500 * (replica + 1))
        file.write_bytes(
            b"".join(stopwatch.RECORD.pack(CYCLE, 2.0, each / 1000) for each in cycles)
            + stopwatch.RECORD.pack(PAUSE, 1.0, 0.5)
        )
    files = [tmp_path / name for name in ("0", "1", "missing")]

    cycle, pause = stopwatch.rows(files)

    assert tuple(cycle) == ("cycle", 1000, pytest.approx((500, 990, 999)), 2000, pytest.approx(999))
    assert pause.number == 2
    assert list(report.table_of_times([cycle]))[-1] == (
        "| cycle | 1,000 | 500.0 | 990.0 | 999.0 | 2000.0 | 999.0 |"
    )


def test_a_record_that_was_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "times"
    path.write_bytes(stopwatch.RECORD.pack(CYCLE, 1.0, 1.0) + b"\0\1")

    assert [row.number for row in stopwatch.rows([path])] == [1]
