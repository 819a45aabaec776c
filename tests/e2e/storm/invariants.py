"""What must never be: two bindings, too much on a node, a write of another than the leader."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from e2e.support.fault_proxy import FaultProxy
from tools.controlplane import access, wholeness
from tools.controlplane.wholeness import PodEvent, Spell

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Written:
    """A write that a replica was told to be done: when it was sent on, and when answered."""

    replica: str
    what: str
    sent_at: float
    answered_at: float
    holder: str | None = None


@dataclass
class WriteLog:
    """All writes that went through the proxies of the replicas, on one clock."""

    writes: list[Written] = field(default_factory=list)

    def foreign(self) -> Iterator[str]:
        """Yield the writes to pods that were sent on while another replica held the Lease."""
        leases = sorted(
            (each for each in self.writes if each.holder is not None),
            key=lambda each: each.answered_at,
        )
        for each in self.writes:
            if each.holder is not None:
                continue
            before = [lease for lease in leases if lease.answered_at <= each.sent_at]
            if before and before[-1].replica != each.replica:
                yield f"{each.what} by {each.replica}, the Lease is that of {before[-1].replica}"


class RecordingProxy(FaultProxy):
    """A proxy that keeps a journal of what a replica writes."""

    def __init__(
        self, replica: str, log: WriteLog, server: access.Access, kubeconfig: Path
    ) -> None:
        super().__init__(server, kubeconfig, named)
        self._replica = replica
        self._log = log
        self._sent: dict[str, float] = {}

    def fault_of(self, name: str) -> Any:
        """Note when a request is sent on."""
        self._sent[name] = time.monotonic()
        return super().fault_of(name)

    def answered(self, name: str, status: int) -> None:
        """Note a write that was done."""
        super().answered(name, status)
        method, _, what = name.partition(" ")
        if method == "GET" or status >= 300:
            return
        path, _, holder = what.partition(" ")
        is_lease = "/leases" in path
        if is_lease or "/pods/" in path:
            sent_at = self._sent.get(name, time.monotonic())
            self._log.writes.append(
                Written(
                    self._replica, name, sent_at, time.monotonic(), holder if is_lease else None
                )
            )


def named(method: str, path: str, body: bytes) -> str:
    """Return the name of a request, with the holder that it gives to a Lease; "" for watches."""
    if "watch=" in path:
        return ""
    holder = ""
    if "/leases" in path and method != "GET":
        holder = " " + (msgspec.json.decode(body)["spec"].get("holderIdentity") or "")
    return f"{method} {path}{holder}"


def bound_twice(history: Sequence[PodEvent]) -> list[str]:
    """Return the pods that were on two nodes."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for event in history:
        if event.node:
            nodes[f"{event.name} {event.uid}"].add(event.node)
    return [f"{name}: {sorted(those)}" for name, those in nodes.items() if len(those) > 1]


def over_committed(history: Sequence[PodEvent], cpu: Mapping[str, int]) -> dict[str, str]:
    """Return the nodes that ever had more CPU on them than they offer, and when that was most."""
    there: dict[str, dict[str, int]] = defaultdict(dict)
    found: dict[str, tuple[int, str]] = {}
    for event in history:
        for pods in there.values():
            pods.pop(event.uid, None)
        if not event.bound or event.node is None or event.phase in ENDED:
            continue
        there[event.node][event.uid] = cpu_of(event.name)
        used = sum(there[event.node].values())
        if used > max(cpu[event.node], found.get(event.node, (0, ""))[0]):
            found[event.node] = used, f"{used} of {cpu[event.node]} by {event}"
    return {node: words for node, (_, words) in found.items()}


def cpu_of(name: str) -> int:
    """Return what a pod of the storm asks for: it is in its name."""
    return int(name.rpartition("-c")[2])


def spells_in_part(history: Sequence[PodEvent], sizes: Mapping[str, int]) -> list[Spell]:
    """Return the times in which gangs were bound in part that had never been whole before."""
    found = wholeness.spells(history, sizes)
    return [spell for spell in found if not spell.was_complete]
