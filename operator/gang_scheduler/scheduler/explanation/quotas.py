"""The quota of a gang's queue and of its ancestors, and how much the gang would add."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.queues import (
    NONE,
    Charge,
    FlavorResource,
    Queue,
    QueueFigures,
    QueueRef,
    QueueSet,
)
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import Amount, Borrower, QuotaLine
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.quota.promises import UNBOUNDED

MOST_BORROWERS: Final = 3


@dataclass(frozen=True, slots=True)
class QueueQuota:
    """How much one queue may use of a flavor and resource, and how much the gang would add.

    `ahead` is the part of `used` for earlier turns. `available` may still be charged to the queue;
    None without a limit. `borrowers` are the queues that have borrowed most, if quota is missing.
    """

    queue: QueueRef
    key: FlavorResource
    nominal: int
    used: int
    adds: int
    available: int | None
    ahead: int
    borrowers: tuple[tuple[QueueRef, int], ...] = ()

    @property
    def short(self) -> int:
        """The part of `adds` that exceeds the available quota."""
        return 0 if self.available is None else max(0, self.adds - max(0, self.available))

    def line(self) -> QuotaLine:
        """Return this quota as a part of the document."""
        flavor, resource = self.key

        def so_much(number: int) -> Amount:
            return Amount(resource, number)

        return QuotaLine(
            queue=self.queue.name,
            flavor=flavor,
            resource=resource,
            nominal=so_much(self.nominal),
            used=so_much(self.used - self.ahead),
            ahead=so_much(self.ahead),
            borrowed=so_much(max(0, self.used - self.nominal)),
            adds=so_much(self.adds),
            borrows=so_much(max(0, min(self.adds, self.used + self.adds - self.nominal))),
            available=None if self.available is None else so_much(self.available),
            short=so_much(self.short),
            held_by=tuple(Borrower(queue.name, so_much(n)) for queue, n in self.borrowers),
        )


def quota_of(turn: Turn) -> tuple[QueueQuota, ...]:
    """Return the quota of each queue from the leaf up to the root; nothing without queues.

    Quota that the group already holds is part of `used`.
    """
    forest = turn.forest
    if forest is None:
        return ()
    state = turn.snapshot.queues
    before = Forest(state, turn.snapshot.nodes) if state is not None else forest
    return tuple(_lines(forest, before, turn.group, charge_of(turn, forest)))


def charge_of(turn: Turn, forest: Forest) -> Charge:
    """Return the charge of the quorums: in the first suitable flavors, else in any flavor."""
    state = turn.snapshot.queues
    declared = state.declared if state is not None else QueueSet()
    request = turn.request()
    if request is not None and request.assignments:
        return request.assignments[0].charge
    ref = turn.group.queue or NONE
    asked: Counter[str] = Counter()
    for gang in turn.group.waiting:
        for pod in gang.pending[: gang.quorum]:
            asked.update(declared.charged(pod.pod_class.requests))
    first: dict[str, FlavorResource] = {}
    for key in sorted(forest.governed(ref)):
        first.setdefault(key.resource, key)
    return {key: asked[name] for name, key in first.items() if asked[name]}


def _lines(
    forest: Forest, before: Forest, group: GangGroup, charge: Charge
) -> Iterator[QueueQuota]:
    """Yield the quotas from the leaf up. `before` has the charges at the start of the cycle."""
    figures = forest.figures()
    path = forest.path(group.queue or NONE)
    amounts = {each.queue.ref: each.amounts for each in figures}
    was = {each.queue.ref: each.amounts for each in before.figures()}
    for queue in path:
        for key, adds in sorted(charge.items()):
            shown = amounts.get(queue.ref, {}).get(key)
            if adds and shown is not None and forest.governs(queue.ref, key):
                left = forest.available(queue.ref, key)
                most = None if left >= UNBOUNDED else left
                ahead = max(0, shown.used - was.get(queue.ref, {}).get(key, shown).used)
                found = QueueQuota(queue.ref, key, shown.nominal, shown.used, adds, most, ahead)
                others = _borrowers(figures, path, key) if found.short else ()
                yield replace(found, borrowers=others)


def _borrowers(
    figures: Sequence[QueueFigures], path: Sequence[Queue], key: FlavorResource
) -> tuple[tuple[QueueRef, int], ...]:
    """Return the leaves of the same tree that have borrowed most, without the gang's own queues."""
    parents = {each.queue.parent for each in figures}
    own = {queue.ref for queue in path}
    found = (
        (each.queue.ref, each.amounts[key].borrowed)
        for each in figures
        if each.queue.ref not in parents | own
        and key in each.amounts
        and each.queue.ref.product is path[0].ref.product
    )
    ranked = sorted((each for each in found if each[1]), key=lambda each: (-each[1], each[0]))
    return tuple(ranked[:MOST_BORROWERS])
