"""What `sacct -P -a -X` prints of a made cluster: arrays, cancelled, requeued and failed jobs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Final

HEADER: Final = (
    "JobID|User|Account|Partition|QOS|Submit|Start|End|Elapsed|Timelimit|AllocTRES|ReqTRES|"
    "NNodes|State|Priority"
)
BEGIN: Final = 1_767_600_000
SIZES: Final = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (16, 8))
WEIGHTS: Final = (55, 15, 10, 12, 4, 3, 1)
"""How often jobs have these nodes and GPUs a node."""
MEAN_GAP: Final = 45


def lines(jobs: int, seed: int = 1) -> Iterator[str]:
    """Yield the header and about so many jobs."""
    dice = Random(seed)  # noqa: S311 - the same seed, the same file.
    yield HEADER
    at, number, made = BEGIN, 1000, 0
    while made < jobs:
        at += 1 + int(dice.expovariate(1 / MEAN_GAP))
        number += 1
        tasks = dice.randrange(2, 40) if dice.random() < 0.03 else 0
        names = [f"{number}_{task}" for task in range(tasks)] or [str(number)]
        size, runs = dice.choices(SIZES, WEIGHTS)[0], _length(dice)
        limit = min(7 * 86_400, int(runs * dice.uniform(1, 4)) // 60 * 60 + 600)
        team, fate = dice.randrange(12), dice.random()
        for name in names:
            made += 1
            start = at + int(dice.expovariate(1 / 1200))
            yield from _job(name, team, size, (at, start, runs, limit), fate)
    yield _line("9999_[0-99%4]", 3, (1, 1), (at, None, None, 0, 3600), "PENDING")


Times = tuple[int, int, int, int]
"""Of a job: its submission, its start, how long it runs, and its limit."""


def _job(name: str, team: int, size: tuple[int, int], times: Times, fate: float) -> Iterator[str]:
    submit, start, runs, limit = times
    end = start + runs
    if fate < 0.05:
        yield _line(name, team, size, (submit, None, submit + 900, 0, limit), "CANCELLED by 1001")
    elif fate < 0.10:
        cut = start + runs // 2 + 1
        state = "CANCELLED by 1001"
        yield _line(name, team, size, (submit, start, cut, cut - start, limit), state)
    elif fate < 0.13:
        half = start + runs // 2 + 1
        yield _line(name, team, size, (submit, start, half, half - start, limit), "REQUEUED")
        again = (half, half + 60, half + 60 + runs, runs, limit)
        yield _line(name, team, size, again, "COMPLETED")
    elif fate < 0.14:
        yield _line(name, team, size, (submit, start, end, runs, limit), "NODE_FAIL")
    else:
        state = "TIMEOUT" if fate < 0.17 else "FAILED" if fate < 0.27 else "COMPLETED"
        yield _line(name, team, size, (submit, start, end, runs, limit), state)


def _line(
    name: str,
    team: int,
    size: tuple[int, int],
    times: tuple[int, int | None, int | None, int, int],
    state: str,
) -> str:
    submit, start, end, elapsed, limit = times
    nodes, gpus = size
    tres = f"billing={nodes},cpu={nodes * gpus * 8},gres/gpu:a100={nodes * gpus}"
    tres += f",gres/gpu={nodes * gpus},mem={nodes * gpus * 60}G,node={nodes}"
    allocated = tres if start is not None else ""
    fields = (
        *(name, f"user{team}{len(name)}", f"team_{team}", "gpu", "normal", _time(submit)),
        *(_time(start), _time(end), _length_of(elapsed), _length_of(limit), allocated, tres),
        *(str(nodes), state, "4294901000"),
    )
    return "|".join(fields)


def _length(dice: Random) -> int:
    return max(5, min(4 * 86_400, int(dice.lognormvariate(6.8, 1.9))))


def _time(moment: int | None) -> str:
    if moment is None:
        return "Unknown"
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _length_of(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock
