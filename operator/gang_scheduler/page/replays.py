"""The map of a replay: which job was on which node at a virtual time, with a slider and play."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

import msgspec
from aiohttp import web

from gang_scheduler.model.wording import counted
from gang_scheduler.page import bodies, rendering
from gang_scheduler.page.access import Access
from gang_scheduler.replay import moves
from gang_scheduler.replay.moves import Moves, OnMap, State

MOST_CELLS: Final = 16
"""A node with more GPUs has this many cells, each for an equal part."""
HUES: Final = 12
POINTS: Final = 240
"""How many points the line of use has."""
FEW: Final = 30
"""How many waiting gangs are listed."""
MANY: Final = 1000
"""With more nodes than this, each is drawn smaller."""
LONGEST_TIME: Final = 20


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A node at a time: `cells` have the hue of a job each, "" if they are free."""

    number: int
    name: str
    used: str
    amount: str
    is_down: bool
    jobs: Sequence[str]
    cells: Sequence[str]

    @property
    def label(self) -> str:
        """Its description, in one line."""
        down = ", failed" if self.is_down else ""
        return f"{self.name}: {self.used} of {self.amount}{down}; {', '.join(self.jobs) or 'free'}"


class Replays:
    """Answers requests about the moves of one policy."""

    def __init__(self, found: Moves, title: str) -> None:
        self._moves = found
        self._title = title
        self._unit = "GPUs" if found.by_gpu else "CPUs"
        self._line = moves.used_over_time(found, POINTS)
        self._whole = sum(each.amount for each in found.nodes)
        self._document = self._as_document()

    def table(self) -> list[web.RouteDef]:
        """Return all addresses."""
        return [web.get("/", self._screen), web.get("/moves.json", self._json)]

    async def _json(self, _: web.Request) -> web.Response:
        return web.Response(body=self._document, content_type="application/json")

    async def _screen(self, request: web.Request) -> web.Response:
        at = self._asked(request.query.get("at", ""))
        state = moves.at(self._moves, at)
        lines = [self._node(number, each, state) for number, each in enumerate(self._moves.nodes)]
        groups = groupby(zip(self._moves.nodes, lines, strict=True), lambda each: each[0].domain)
        by_domain: dict[str, list[NodeLine]] = {}
        for domain, found in groups:
            by_domain.setdefault(domain, []).extend(line for _, line in found)
        alone = len(by_domain) == len(lines)
        used = self._used(state)
        waiting = sorted((since, job, pods) for job, (since, pods) in state.waiting.items())
        text = rendering.render(
            "replay.html",
            title=self._title,
            policy=self._moves.policy,
            unit=self._unit,
            at=at,
            end=self._moves.end,
            moment=self.moment(at),
            used=self._amount(used),
            whole=self._amount(self._whole),
            part=100 * used / (self._whole or 1),
            domains=[("", lines)] if alone else list(by_domain.items()),
            many=len(lines) > MANY,
            waiting=[self._waits(*each, at) for each in waiting[:FEW]],
            more=max(0, len(waiting) - FEW),
            waits=counted(len(waiting), "gang"),
            line=_points(used for used, _ in self._line),
            demand=_points(min(1.0, used + waits) for used, waits in self._line),
            mark=1000 * at / (self._moves.end or 1),
        )
        return web.Response(text=text, content_type="text/html")

    def _asked(self, text: str) -> int:
        """Return the requested time, within the replay."""
        is_number = text.isdecimal() and text.isascii() and len(text) <= LONGEST_TIME
        return min(self._moves.end, int(text)) if is_number else 0

    def moment(self, at: int) -> str:
        """Return the words for a time."""
        if self._moves.dated:
            return f"{datetime.fromtimestamp(self._moves.begin + at, UTC):%Y-%m-%d %H:%M:%S} UTC"
        days, rest = divmod(at, 86_400)
        return f"day {days + 1}, {timedelta(seconds=rest)}"

    def _used(self, state: State) -> int:
        jobs = self._moves.jobs
        return sum(jobs[job].each * pods for on in state.on.values() for job, pods in on.items())

    def _amount(self, amount: int) -> str:
        return str(amount) if self._moves.by_gpu else f"{amount / 1000:g}"

    def _node(self, number: int, node: OnMap, state: State) -> NodeLine:
        on = sorted(state.on[number].items()) if number in state.on else []
        jobs = self._moves.jobs
        used = sum(jobs[job].each * pods for job, pods in on)
        return NodeLine(
            number=number,
            name=node.name,
            used=self._amount(used),
            amount=f"{self._amount(node.amount)} {self._unit}",
            is_down=number in state.down,
            jobs=[jobs[job].name for job, _ in on],
            cells=_cells(
                node.amount, [(job, jobs[job].each * pods) for job, pods in on], self._step
            ),
        )

    @property
    def _step(self) -> int:
        """Return the least amount that a cell stands for: a GPU, or a CPU."""
        return 1 if self._moves.by_gpu else 1000

    def _waits(self, since: int, job: int, pods: int, at: int) -> Mapping[str, Any]:
        found = self._moves.jobs[job]
        return {
            "name": found.name,
            "queue": found.queue,
            "asks": f"{self._amount(found.each * pods)} {self._unit}",
            "pods": counted(pods, "pod"),
            "since": at - since,
        }

    def _as_document(self) -> bytes:
        """Return the data for the script of the page, in short lists."""
        found = self._moves
        return json.dumps(
            {
                "begin": found.begin if found.dated else None,
                "end": found.end,
                "unit": self._unit,
                "step": self._step,
                "nodes": [[each.name, each.amount] for each in found.nodes],
                "jobs": [[each.name, each.queue, each.each] for each in found.jobs],
                "moves": msgspec.to_builtins(found.moves),
                "turned": msgspec.to_builtins(found.turned),
                "cells": MOST_CELLS,
                "hues": HUES,
                "few": FEW,
            },
            separators=(",", ":"),
        ).encode()


def application(found: Moves, access: Access, title: str) -> web.Application:
    """Return the page of a replay."""
    made = web.Application(middlewares=[access.middleware()])
    made.add_routes([*Replays(found, title).table(), *bodies.static_routes()])
    return made


def _cells(amount: int, on: Sequence[tuple[int, int]], step: int) -> list[str]:
    """Return the hue of each cell of a node: jobs in the order of their numbers, then what is free.

    The script does the same.
    """
    number = max(1, min(MOST_CELLS, amount // step))
    cells, taken = list[str](), 0
    for job, used in on:
        taken += used
        most = min(number, -(-taken * number // (amount or 1)))
        cells += [f"hue-{job % HUES}"] * (most - len(cells))
    return cells + [""] * (number - len(cells))


def _points(parts: Any) -> str:  # noqa: ANN401 - numbers from 0 to 1.
    """Return the points of a line that is 1000 wide and 100 high."""
    known = [*parts]
    width = 1000 / max(1, len(known))
    return " ".join(
        f"{(place + 0.5) * width:.1f},{100 - 100 * each:.1f}" for place, each in enumerate(known)
    )
