"""The proxy between one replica and the API server: what it does to requests and to watches.

Beside what any fault proxy does, it keeps what each replica wrote, and when.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from e2e.support.fault_proxy import PASS, Fault, FaultProxy
from tools.controlplane import access

GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version: a fault","reason":"Expired","code":410}}\n'
)
BOOKMARK = b'"type":"BOOKMARK"'


@dataclass(frozen=True)
class WatchFault:
    """What befalls the events of watches. The order of events is kept, as it always is.

    late          so many seconds pass before each part of an answer
    twice         this share of events comes a second time, right after the first
    no_bookmarks  none comes through
    gone          the next event is an error: what was seen last is too old
    torn          the next event ends in its middle, and so does the watch
    since         the last two are for watches that were there at that time, and not for the next
    """

    late: float = 0.0
    twice: float = 0.0
    no_bookmarks: bool = False
    gone: bool = False
    torn: bool = False
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Written:
    """A write that was done: by which replica, when it was sent on, and when it was answered.

    `holder` is what it makes the holder of the Lease, None for a write of anything else.
    """

    replica: str
    what: str
    sent_at: float
    answered_at: float
    holder: str | None = None


@dataclass
class WriteLog:
    """All writes that went through the proxies of the replicas, on one clock."""

    writes: list[Written] = field(default_factory=list)

    def foreign(self) -> list[tuple[float, str]]:
        """Return the writes to pods that were sent on while another replica held the Lease."""
        writes = list(self.writes)
        leases = sorted(
            (each for each in writes if each.holder is not None),
            key=lambda each: each.answered_at,
        )
        found, holder, behind = [], None, 0
        for each in sorted(writes, key=lambda each: each.sent_at):
            while behind < len(leases) and leases[behind].answered_at <= each.sent_at:
                holder, behind = leases[behind], behind + 1
            if each.holder is None and holder and holder.holder and holder.replica != each.replica:
                words = f"{each.what} by {each.replica}, the Lease is that of {holder.replica}"
                found.append((each.sent_at, words))
        return found


class ChaosProxy(FaultProxy):
    """A proxy of one replica. `kill` is what ends the replica at once."""

    def __init__(
        self,
        replica: str,
        log: WriteLog,
        server: access.Access,
        kubeconfig: Path,
        key_file: Path | None = None,
    ) -> None:
        super().__init__(server, kubeconfig, named, key_file=key_file)
        self.replica = replica
        self.kill: Callable[[], None] = lambda: None
        self.watch_fault = WatchFault()
        self._log = log
        self._sent = threading.local()
        self._dice = random.Random(replica)  # noqa: S311 - chaos keeps no secret.

    def end_faults(self) -> None:
        """Let everything through from now on."""
        self.watch_fault = WatchFault()
        self.start_over()
        self.flows.set()

    def fault_of(self, name: str) -> Any:
        """Note when a request is sent on."""
        self._sent.at = time.monotonic()
        return super().fault_of(name)

    def answered(self, name: str, status: int) -> None:
        """Note a write that was done."""
        if is_write(name) and status < 300:
            path, _, holder = name.partition(" ")[2].partition(" ")
            is_lease = "/leases" in path
            if is_lease or "/pods/" in path:
                now = time.monotonic()
                self._log.writes.append(
                    Written(self.replica, name, self._sent.at, now, holder if is_lease else None)
                )

    def passed_on(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what a watch is told. Only whole events are touched, and only while asked to."""
        rest, opened_at = b"", time.monotonic()
        for part in super().passed_on(parts):
            fault = self.watch_fault
            if fault.late:
                time.sleep(fault.late)
            *lines, rest = (rest + part).split(b"\n")
            if lines and (fault.gone or fault.torn) and opened_at < fault.since:
                yield GONE if fault.gone else lines[0][: len(lines[0]) // 2]
                return
            if said := b"".join(self._events(lines, fault)):
                yield said

    def _events(self, lines: Iterable[bytes], fault: WatchFault) -> Iterator[bytes]:
        for line in lines:
            if fault.no_bookmarks and BOOKMARK in line[:40]:
                continue
            yield line + b"\n"
            if fault.twice and self._dice.random() < fault.twice:
                yield line + b"\n"


def named(method: str, path: str, body: bytes) -> str:
    """Return the name of a request, with the holder that it gives to a Lease."""
    if "watch=" in path:
        return f"WATCH {path}"
    holder = ""
    if "/leases" in path and method != "GET":
        holder = " " + (msgspec.json.decode(body)["spec"].get("holderIdentity") or "")
    return f"{method} {path}{holder}"


def is_write(name: str) -> bool:
    """Return whether a request of this name writes."""
    return not name.startswith(("GET ", "WATCH "))


def is_of_lease(name: str) -> bool:
    """Return whether a request of this name is about the Lease."""
    return "/leases" in name


__all__ = ["PASS", "ChaosProxy", "Fault", "WatchFault", "WriteLog", "is_of_lease", "is_write"]
