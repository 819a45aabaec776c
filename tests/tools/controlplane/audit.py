"""Figures from the audit log: how fast pods were bound, and how long each one waited.

The log is the only clock fine enough: timestamps of pods have a resolution of a second. A pod
made with generateName has no name in the log yet when it is created, so it counts for the rate
but not for the waiting times.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec


@dataclass(frozen=True)
class Figures:
    """What an audit log says about one run. Times are seconds."""

    bound_at: tuple[float, ...]  # when each binding ended, since the epoch, ascending
    waits: tuple[float, ...]  # from creation to binding, ascending

    @property
    def bindings(self) -> int:
        """How many pods were bound."""
        return len(self.bound_at)

    @property
    def last_at(self) -> float:
        """When the last binding ended, since the epoch; 0 for none."""
        return self.bound_at[-1] if self.bound_at else 0.0

    @property
    def seconds(self) -> float:
        """From the first binding to the last."""
        return self.bound_at[-1] - self.bound_at[0] if self.bound_at else 0.0

    @property
    def bindings_per_second(self) -> float:
        """The rate between the first binding and the last; 0 for fewer than two."""
        return self.bindings / self.seconds if self.seconds > 0 else 0.0

    @property
    def wait_p50(self) -> float:
        """The median wait."""
        return percentile(self.waits, 50)

    @property
    def wait_p99(self) -> float:
        """The wait that 99 of 100 pods stayed below."""
        return percentile(self.waits, 99)


@dataclass(frozen=True)
class Creation:
    """A successful creation of a pod or of a pod's binding."""

    pod: str | None  # namespace/name; None where the name was generated
    is_binding: bool
    at: float


def end(log: Path) -> int:
    """Return the offset from which `figures` reads only what comes later."""
    return log.stat().st_size


def figures(log: Path, offset: int = 0) -> Figures:
    """Return the figures of the log from a byte offset on."""
    # Sorted, because requests that end at the same time may be written in either order.
    creations = sorted(_creations(_complete_lines(log, offset)), key=lambda creation: creation.at)
    bound_at = tuple(creation.at for creation in creations if creation.is_binding)
    return Figures(bound_at, tuple(sorted(_waits(creations))))


def gang_waits(log: Path, offset: int, gang_of: Callable[[str], str]) -> list[float]:
    """Return each gang's wait, ascending: from the last creation of a member to the last binding.

    `gang_of` tells the gang of a pod by its namespace/name.
    """
    created: dict[str, float] = {}
    bound: dict[str, float] = {}
    for creation in _creations(_complete_lines(log, offset)):
        if creation.pod is not None:
            last = bound if creation.is_binding else created
            gang = gang_of(creation.pod)
            last[gang] = max(creation.at, last.get(gang, 0.0))
    return sorted(bound[gang] - at for gang, at in created.items() if gang in bound)


def percentile(ascending: Sequence[float], percent: float) -> float:
    """Return the smallest value that so many percent do not exceed (nearest rank); nan for none."""
    if not ascending:
        return math.nan
    return ascending[max(math.ceil(len(ascending) * percent / 100), 1) - 1]


def _complete_lines(log: Path, offset: int) -> list[bytes]:
    with log.open("rb") as file:
        file.seek(offset)
        # The server may be in the middle of its last line.
        return file.read().split(b"\n")[:-1]


def _creations(lines: Iterable[bytes]) -> Iterator[Creation]:
    for line in lines:
        event: dict[str, Any] = msgspec.json.decode(line)
        target = event["objectRef"]
        if event["verb"] != "create" or event["responseStatus"]["code"] != 201:
            continue
        if target["resource"] != "pods" or target.get("subresource") not in {None, "binding"}:
            continue
        yield Creation(
            pod=f"{target['namespace']}/{target['name']}" if "name" in target else None,
            is_binding="subresource" in target,
            at=dt.datetime.fromisoformat(event["stageTimestamp"]).timestamp(),
        )


def _waits(creations: Iterable[Creation]) -> Iterator[float]:
    created_at: dict[str, float] = {}
    for creation in creations:
        if creation.pod is None:
            continue
        if not creation.is_binding:
            created_at[creation.pod] = creation.at
        elif creation.pod in created_at:
            # Popped: a later pod of the same name has a wait of its own.
            yield creation.at - created_at.pop(creation.pod)
