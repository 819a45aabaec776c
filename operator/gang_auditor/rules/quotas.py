"""`limit` and `guarantee`: no queue exceeds its limit, or takes the guarantee of another one.

Source: docs/queues.md.

Both are judged when a pod is bound, by the charges of the pods on nodes.

`limit`: the queue or an ancestor exceeds its hard quota, or borrows too much.

`guarantee`: a queue borrows quota that no queue lends, so that less is left than the guarantees.

Not flagged: quotas that were cut and nodes that were removed, about that time or later; bindings
soon after a Queue was deleted, which still counts for a moment. Pods that are being deleted do not
count, and neither do pods that other schedulers have bound. Queues of Kueue and Volcano, quotas
without some resources (a setting) and `allowedQueues` are not judged.
"""

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gang_auditor import objects, queues
from gang_auditor.auditor import Limits
from gang_auditor.charges import DEFAULT_FLAVOR, NO_QUEUE, Charge, flavors_of
from gang_auditor.findings import Finding
from gang_auditor.objects import Pod
from gang_auditor.queues import Account, Tree
from gang_auditor.watch_events import Object
from gang_auditor.world import Change, Due, World
from gang_scheduler.api import annotations as keys


class _Case(NamedTuple):
    """A binding that put a queue over its quota, as far as that was known when it was made."""

    pod: Pod
    at: float
    queue: str
    key: tuple[str, str]
    used: Mapping[Charge, int]


class _Quota(abc.ABC):
    """Judges bindings twice: when they are made, and when all changes at that time are known."""

    name: str

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[_Case] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note bindings that seem to exceed a quota."""
        bindings = [each for each in changes if each.bound and self._limits.judges(each.bound)]
        specs = queues.specs_of(world) if bindings else {}
        for change in bindings if specs else ():
            if (pod := change.bound) is not None:
                self._note(pod, change.at, specs, world)
        yield from ()

    def _note(self, pod: Pod, at: float, specs: Mapping[str, Object], world: World) -> None:
        queue = pod.annotations.get(keys.QUEUE) or NO_QUEUE
        if queue not in specs and queue != NO_QUEUE:
            return
        if queues.just_went(world, self._limits, self._limits.decided(at)):
            return
        for key in _asked(pod, specs):
            used = world.charges.used
            if self._wrong(queues.tree_of(world, specs, used, key), queue):
                self._due.add(at, _Case(pod, at, queue, key, world.charges.copy()))

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge these bindings again, by the present queues and nodes."""
        for case in self._due.take(now):
            specs = queues.specs_of(world)
            if case.queue not in specs and case.queue != NO_QUEUE:
                continue
            account = self._wrong(queues.tree_of(world, specs, case.used, case.key), case.queue)
            if account is not None:
                flavor, resource = case.key
                details = {
                    "queue": case.queue,
                    "flavor": flavor,
                    "resource": resource,
                    "used": account.used,
                    "total": account.total,
                    "of": account.name,
                }
                message = self._words(case, account)
                yield Finding(case.at, self.name, f"Queue {case.queue}", message, details)

    @abc.abstractmethod
    def _wrong(self, tree: Tree, queue: str) -> Account | None:
        """Return the queue, or the queue above it, that has too much; None if there is none."""

    @abc.abstractmethod
    def _words(self, case: _Case, account: Account) -> str:
        """Return the message about the fault of a binding."""


class Limit(_Quota):
    """Judges whether a queue exceeds its limit."""

    name = "limit"

    def _wrong(self, tree: Tree, queue: str) -> Account | None:
        return tree.over_limit(queue)

    def _words(self, case: _Case, account: Account) -> str:
        resource = case.key[1]
        total = objects.shown(resource, account.total)
        return (
            f"{case.pod.key} was bound, with which {account.name} has {total} {resource}: more "
            "than it may use"
        )


class Guarantee(_Quota):
    """Judges whether a queue takes quota that is guaranteed to another queue."""

    name = "guarantee"

    def _wrong(self, tree: Tree, queue: str) -> Account | None:
        return tree.overlent(queue)

    def _words(self, case: _Case, account: Account) -> str:
        resource = case.key[1]
        over = objects.shown(resource, account.used - account.nominal)
        return (
            f"{case.pod.key} was bound, and now queues below {account.name} borrow {over} "
            f"{resource} that no queue lends: they are promised or guaranteed to others"
        )


def _asked(pod: Pod, specs: Mapping[str, Object]) -> Iterator[tuple[str, str]]:
    """Yield the flavors and resources of a pod for which some queue has quota."""
    flavors = flavors_of(pod)
    for flavor, resource in sorted(queues.governed(specs)):
        asked = [each for each in queues.meanings(resource) if pod.requests.get(each)]
        if any(flavors.get(each, DEFAULT_FLAVOR) == flavor for each in asked):
            yield flavor, resource
