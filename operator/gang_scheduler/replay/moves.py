"""The moves of a replay: when pods waited, got a node and left it. `page --replay` shows them."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gang_scheduler.recording import file_format
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.measures import Measures

KIND: Final = "ReplayMoves"
API_VERSION: Final = file_format.API_VERSION
NO_DOMAIN: Final = ""

Place = Annotated[int, Meta(ge=0)]
Amount = Annotated[int, Meta(ge=0, le=2**53)]


class OnMap(file_format.RecordingLine, frozen=True, kw_only=True):
    """A node: its name, its GPUs, or its CPUs in thousandths, and the domain that it is in."""

    name: str
    amount: Amount
    domain: str = NO_DOMAIN


class Moved(file_format.RecordingLine, frozen=True, kw_only=True):
    """A job, and the amount that each of its pods takes."""

    name: str
    queue: str = ""
    each: Amount = 0
    pods: Annotated[int, Meta(ge=1)] = 1


class Move(msgspec.Struct, frozen=True, array_like=True):
    """At one time, this many more pods of a job wait, and this many more are on nodes.

    Times are seconds since the begin. `on` has pairs: the number of a node, and pods.
    """

    at: Place
    job: Place
    waits: int
    on: tuple[int, ...] = ()


class Turned(msgspec.Struct, frozen=True, array_like=True):
    """A node fails, or is back."""

    at: Place
    node: Place
    up: bool


class Moves(file_format.RecordingLine, frozen=True, kw_only=True):
    """All moves of one policy. `begin` is in seconds since the epoch, if the times are `dated`."""

    kind: str = KIND
    api_version: str = API_VERSION
    policy: str
    begin: Place
    end: Place
    dated: bool = False
    by_gpu: bool = True
    nodes: tuple[OnMap, ...]
    jobs: tuple[Moved, ...]
    moves: tuple[Move, ...]
    turned: tuple[Turned, ...] = ()


class UnreadableMoves(ValueError):  # noqa: N818 - names what is wrong.
    """A file that has no moves; the message says why."""


@dataclass(slots=True)
class State:
    """The cluster at one moment: the pods of each job by node, and the jobs that wait.

    Of a waiting job: since when it waits, and with how many pods.
    """

    on: defaultdict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    waiting: dict[int, tuple[int, int]] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)

    def take(self, move: Move) -> None:
        """Take in a move."""
        since, pods = self.waiting.pop(move.job, (move.at, 0))
        if (pods := pods + move.waits) > 0:
            self.waiting[move.job] = since, pods
        for node, more in zip(move.on[::2], move.on[1::2], strict=True):
            there = self.on[node]
            there[move.job] += more
            if there[move.job] <= 0:
                del there[move.job]


class MovedMeasures(Measures):
    """Measures that note each move, too."""

    def __init__(
        self, queues: Sequence[str], nodes: Mapping[str, int], begin: int, *, by_gpu: bool
    ) -> None:
        super().__init__(queues, nodes, begin, by_gpu=by_gpu)
        self._names = {name: number for number, name in enumerate(nodes)}
        self._amounts = dict(nodes)
        self._numbers: dict[str, int] = {}
        self._jobs: list[Moved] = []
        self._moves: list[Move] = []
        self._turned: list[Turned] = []
        self._of = (0, 0)
        self._more_wait = 0
        self._on: Counter[int] = Counter()

    def waits(self, job: Job, pods: int, *, complete: int) -> None:
        """Note that more pods of a job wait."""
        super().waits(job, pods, complete=complete)
        self._begin(job)
        self._more_wait += pods

    def takes(self, job: Job, node: str, sign: int) -> None:
        """Note that a pod is on a node, or has left it."""
        super().takes(job, node, sign)
        self._begin(job)
        self._on[self._names[node]] += sign

    def node(self, name: str, *, up: bool) -> None:
        """Note that a node has failed, or is back."""
        super().node(name, up=up)
        self._turned.append(Turned(self.now - self.begin, self._names[name], up))

    def found(self, policy: str, domains: Mapping[str, str], *, dated: bool) -> Moves:
        """Return all moves so far."""
        self._close()
        nodes = (
            OnMap(name=name, amount=amount, domain=domains.get(name, NO_DOMAIN))
            for name, amount in self._amounts.items()
        )
        return Moves(
            policy=policy,
            begin=self.begin,
            end=self.now - self.begin,
            dated=dated,
            by_gpu=self.by_gpu,
            nodes=tuple(nodes),
            jobs=tuple(self._jobs),
            moves=tuple(self._moves),
            turned=tuple(self._turned),
        )

    def _begin(self, job: Job) -> None:
        """Begin the move of a job, unless it is the present one."""
        number = self._numbers.get(job.key)
        if number is None:
            number = self._numbers[job.key] = len(self._jobs)
            made = Moved(name=job.key, queue=job.queue, each=self.amount(job), pods=job.pods)
            self._jobs.append(made)
        of = self.now - self.begin, number
        if of != self._of:
            self._close()
            self._of = of

    def _close(self) -> None:
        on = tuple(each for pair in self._on.items() if pair[1] for each in pair)
        if self._more_wait or on:
            self._moves.append(Move(*self._of, self._more_wait, on))
        self._more_wait = 0
        self._on.clear()


def write(path: Path, moves: Moves) -> None:
    """Write moves to a file, compressed if its name ends in .gz. Raises OSError."""
    text = msgspec.json.encode(moves) + b"\n"
    is_packed = path.name.endswith(file_format.PACKED)
    path.write_bytes(gzip.compress(text, mtime=0) if is_packed else text)


def read(path: Path) -> Moves:
    """Return the moves of a file. Raises OSError, and UnreadableMoves for any other file."""
    raw = path.read_bytes()
    try:
        content = file_format.inflated(raw) if raw.startswith(b"\x1f\x8b") else raw
        found = msgspec.json.decode(content, type=Moves)
    except (ValueError, RecursionError) as error:
        raise UnreadableMoves(f"is no file that replay --moves wrote: {error}") from error
    if (found.kind, found.api_version) != (KIND, API_VERSION):
        raise UnreadableMoves(f"is a {found.kind} of {found.api_version}, and no {KIND}")
    _check(found)
    return found


def _check(found: Moves) -> None:
    """Raise UnreadableMoves where a number leads nowhere, or time goes back."""
    before = 0
    for number, move in enumerate(found.moves):
        nodes = move.on[::2]
        is_known = move.job < len(found.jobs) and all(0 <= n < len(found.nodes) for n in nodes)
        if not is_known or len(move.on) % 2:
            raise UnreadableMoves(f"moves[{number}]: names no job or node of the file")
        if not before <= move.at <= found.end:
            raise UnreadableMoves(f"moves[{number}]: the time {move.at} is out of order")
        before = move.at
    for number, each in enumerate(found.turned):
        if each.node >= len(found.nodes):
            raise UnreadableMoves(f"turned[{number}]: names no node of the file")


def at(moves: Moves, seconds: int) -> State:
    """Return the state this many seconds after the begin."""
    state = State()
    for move in moves.moves:
        if move.at > seconds:
            break
        state.take(move)
    for each in moves.turned:
        if each.at <= seconds:
            (state.down.discard if each.up else state.down.add)(each.node)
    return state


def used_over_time(moves: Moves, points: int) -> list[tuple[float, float]]:
    """Return the used part of the cluster over time, as at most `points` values.

    Also return the waiting requests, as a part of the cluster.
    """
    whole = sum(each.amount for each in moves.nodes) or 1
    # Whole seconds: parts begin and end exactly.
    width = max(1, -(-moves.end // points))
    sums = [[0, 0] for _ in range(-(-moves.end // width))]
    used = waits = since = 0
    for at, each, on, more in (*_changes(moves), (moves.end, 0, 0, 0)):
        while since < at:
            part = since // width
            until = min(at, (part + 1) * width)
            sums[part][0] += used * (until - since)
            sums[part][1] += waits * (until - since)
            since = until
        used += each * on
        waits += each * more
    spans = [min(width, moves.end - part * width) * whole for part in range(len(sums))]
    return [
        (taken / span, wanted / span) for (taken, wanted), span in zip(sums, spans, strict=True)
    ]


def _changes(moves: Moves) -> Iterator[tuple[int, int, int, int]]:
    """Yield for each move its time, the amount of a pod, and how many more pods run and wait."""
    for move in moves.moves:
        yield move.at, moves.jobs[move.job].each, sum(move.on[1::2]), move.waits
