"""The moves of a replay say what was where at any time."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import main
from gang_scheduler.replay import moves, side_by_side
from gang_scheduler.replay.moves import Moves, UnreadableMoves
from gang_scheduler.replay.run import Rules
from support import replays

ROWS = ("a,0,100,2,8", "b,10,50,1,8", "c,20,10,1,4")
"""On two nodes of eight: b waits until a has ended, and c, too."""


def moved(*rows: str, rules: Rules | None = None) -> Moves:
    """Return the moves of jobs on two nodes of 8 GPUs."""
    trace = replays.trace(*rows)
    scenario = replays.scenario(trace)
    found = side_by_side.replayed(
        trace, scenario, rules or Rules(), lambda _: None, with_moves=True
    )
    assert found.moves is not None
    return found.moves


def written(path: Path, **changed: Any) -> Path:
    """Return a file of moves in which some fields are other ones."""
    moves.write(path, moved(*ROWS))
    body = {**json.loads(path.read_bytes()), **changed}
    path.write_text(json.dumps(body))
    return path


def seen(found: Moves, seconds: int) -> tuple[dict[str, int], list[str]]:
    """Return the GPUs of each job on nodes, and the jobs that wait."""
    state = moves.at(found, seconds)
    used: dict[str, int] = {}
    for on in state.on.values():
        for job, pods in on.items():
            name = found.jobs[job].name.partition("/")[2]
            used[name] = used.get(name, 0) + pods * found.jobs[job].each
    return used, [found.jobs[job].name.partition("/")[2] for job in state.waiting]


def test_at_a_time_jobs_are_where_they_ran_then() -> None:
    found = moved(*ROWS)

    assert ({"a": 16}, []) == seen(found, 0)
    assert ({"a": 16}, ["b"]) == seen(found, 10)
    assert ({"a": 16}, ["b", "c"]) == seen(found, 99)
    assert ({"b": 8, "c": 4}, []) == seen(found, 100)
    assert ({"b": 8}, []) == seen(found, 149)
    assert ({}, []) == seen(found, 150)
    assert 150 == found.end
    assert [8, 8] == [each.amount for each in found.nodes]


def test_a_job_waits_since_it_came() -> None:
    state = moves.at(moved(*ROWS), 99)

    assert {1: (10, 1), 2: (20, 1)} == state.waiting


def test_a_failed_node_is_down_and_has_no_pods() -> None:
    found = moved("a,0,9000,1,8", "b,0,9000,1,8", rules=Rules(failures=(3000, 600), seed=2))
    first = found.turned[0]
    state = moves.at(found, first.at)

    assert not first.up
    assert {first.node} == state.down
    assert not state.on[first.node]


def test_the_line_of_use_is_the_mean_of_each_part() -> None:
    # 16 of 16 GPUs for 100 seconds; then 12 for 10 and 8 for 40.
    line = moves.used_over_time(moved(*ROWS), 3)

    assert [1.0, 1.0, (12 * 10 + 8 * 40) / 50 / 16] == [pytest.approx(used) for used, _ in line]
    assert pytest.approx((8 * 40 + 4 * 30) / 50 / 16) == line[0][1]
    assert len(moves.used_over_time(moved(*ROWS), 7)) <= 7


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = moved(*ROWS)
    for name in ("m.json", "m.json.gz"):
        moves.write(tmp_path / name, found)
        assert found == moves.read(tmp_path / name)
    assert gzip.decompress((tmp_path / "m.json.gz").read_bytes()) == (
        (tmp_path / "m.json").read_bytes()
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "Other"}, "is a Other of"),
        ({"moves": [[0, 9, 1, []]]}, r"moves\[0\]: names no job or node"),
        ({"moves": [[0, 0, 1, [5, 1]]]}, r"moves\[0\]: names no job or node"),
        ({"moves": [[0, 0, 1, [0]]]}, r"moves\[0\]: names no job or node"),
        ({"moves": [[9, 0, 1, []], [8, 0, 1, []]]}, r"moves\[1\]: the time 8 is out of order"),
        ({"moves": [[1000, 0, 1, []]]}, r"moves\[0\]: the time 1000 is out of order"),
        ({"turned": [[0, 7, False]]}, r"turned\[0\]: names no node"),
        ({"end": "late"}, "is no file that replay --moves wrote: .*end"),
    ],
)
def test_a_bad_file_is_named_by_field(
    changed: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableMoves, match=problem):
        moves.read(written(tmp_path / "m.json", **changed))


def test_measures_with_moves_are_the_same() -> None:
    trace = replays.trace(*ROWS)
    scenario = replays.scenario(trace)
    plain, noted = (
        side_by_side.replayed(trace, scenario, Rules(), lambda _: None, with_moves=each).document
        for each in (False, True)
    )

    assert plain == noted


def test_the_command_writes_moves_of_one_policy(tmp_path: Path) -> None:
    jobs, out = tmp_path / "jobs.csv", tmp_path / "m.json"
    jobs.write_text("name,submit,duration,pods,gpu\n" + "\n".join(ROWS))
    line = ["replay", str(jobs), "--nodes", "2x8", "--moves", str(out)]
    done = CliRunner().invoke(main, line)
    two = CliRunner().invoke(main, [*line, "--policy", "as-is", "--policy", "strict-fifo"])
    no_directory = CliRunner().invoke(main, [*line[:-1], str(tmp_path / "none" / "m.json")])

    assert 0 == done.exit_code, done.output
    assert "as-is" == moves.read(out).policy
    assert (2, True) == (two.exit_code, "--moves: has one policy" in two.output)
    assert (2, True) == (no_directory.exit_code, "--moves: " in no_directory.output)
