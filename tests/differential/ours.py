"""Our verdicts: the cluster as the API server shows it, taken in as the operator does."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import numpy as np

from differential.worlds import Manifest
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode.events import LeftOut, LeftOutObjects
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.kinds import KINDS
from support import cache_feeding

PROFILE: Final = PROFILES["binpack"]


@dataclass(frozen=True)
class Opinion:
    """Our verdict on a pod.

    `like_theirs` are the nodes that would pass if all of them were ready, and `reasons` are those
    of the others. `unsupported` are fields that we refuse.
    """

    passed: frozenset[str]
    like_theirs: frozenset[str]
    reasons: Counter[str]
    unsupported: tuple[str, ...]


class Ours:
    """Our cache, which sees the cluster change from case to case as the operator does."""

    def __init__(self) -> None:
        self._cache = Cache(["default-scheduler"], Changes())
        self._left_out = LeftOutObjects()
        self._event_handlers = cache_feeding.event_handlers(self._cache, self._left_out)
        self._known: dict[str, tuple[str, Manifest]] = {}

    def see(self, everything: Mapping[str, list[Manifest]], seed: int) -> None:
        """Take in what has changed since the last time: a kind in order, and kinds in any order."""
        now = {
            body["metadata"]["uid"]: (kind, body)
            for kind, bodies in everything.items()
            for body in bodies
        }
        for kind, event in _in_any_order(self._changes(now), seed):
            self._event_handlers.of(_gvr_of(kind)).handle(event)
        for each in self._left_out.take_all():
            _complain(each)
        self._known = now
        self._snapshot = self._cache.snapshot(0)
        self._if_ready = _all_ready(self._snapshot)
        self._pods = {
            pod.name: pod
            for group in self._snapshot.groups
            for gang in group.gangs
            for pod in gang.pending
        }

    def _changes(self, now: Mapping[str, tuple[str, Manifest]]) -> dict[str, list[Manifest]]:
        changes: dict[str, list[Manifest]] = {}
        for uid, (kind, body) in self._known.items():
            if uid not in now:
                changes.setdefault(kind, []).append({"type": "DELETED", "object": body})
        for uid, (kind, body) in now.items():
            if self._known.get(uid) != (kind, body):
                changes.setdefault(kind, []).append({"type": "MODIFIED", "object": body})
        return changes

    def opinion(self, name: str) -> Opinion | None:
        """Return what we say of a pod; None for one that we do not try to place."""
        pod = self._pods.get(name)
        return None if pod is None else self._opinion(pod)

    def _opinion(self, pod: Pod) -> Opinion:
        found = diagnosis.diagnose(pod.pod_class, Trial(self._if_ready), PROFILE)
        return Opinion(
            passed=_passed(pod, self._snapshot),
            like_theirs=_passed(pod, self._if_ready),
            reasons=Counter(dict(found.rejections)),
            unsupported=pod.pod_class.unsupported,
        )


def _in_any_order(changes: dict[str, list[Manifest]], seed: int) -> Iterator[tuple[str, Manifest]]:
    dice = Random(seed)  # noqa: S311 - for cases, not for secrets.
    while left := [kind for kind, events in changes.items() for _ in events]:
        kind = dice.choice(left)
        yield kind, changes[kind].pop(0)


def _gvr_of(kind: str) -> GVR:
    return next(each.reader.gvr for each in KINDS if each.reader.kind == kind)


def _passed(pod: Pod, snapshot: Snapshot) -> frozenset[str]:
    if pod.pod_class.unsupported:
        return frozenset()
    slots = offer_slots(pod.pod_class, Trial(snapshot), PROFILE)
    return frozenset(snapshot.nodes.nodes[row].name for row in np.flatnonzero(slots > 0))


def _all_ready(snapshot: Snapshot) -> Snapshot:
    table = NodeTable(replace(node, ready=True) for node in snapshot.nodes.nodes)
    return replace(snapshot, nodes=table)


def _complain(left_out: LeftOut) -> None:
    name = left_out.obj["metadata"]["name"]
    raise AssertionError(
        f"{left_out.kind} {name} of the API server cannot be read: {left_out.why}"
    ) from left_out.why
