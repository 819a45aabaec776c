"""What is charged to queues, and how it counts in those above them."""

import operator

from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef, QueueState, QueueUsage
from gang_scheduler.scheduler.quota.promises import Promises


class Charges:
    """What is charged, a list along the rows for each flavor and resource.

    `used` is what counts against a queue's promise: of those below it, only what is beyond their
    guarantees. `total` is all that the leaves below it are charged. What no number of a tree
    governs is not kept.
    """

    def __init__(self, promises: Promises) -> None:
        self.promises = promises
        self.version = 0
        """How often anything was charged or released."""
        self.used = {key: [0] * len(promises.trees) for key in promises.terms}
        self.total = {key: [0] * len(promises.trees) for key in promises.terms}

    def copy(self) -> "Charges":
        """Return the same charges, to be changed apart. Costs a step a row, in one pass."""
        copied = object.__new__(Charges)
        copied.promises, copied.version = self.promises, self.version
        copied.used = {key: column.copy() for key, column in self.used.items()}
        copied.total = {key: column.copy() for key, column in self.total.items()}
        return copied

    def is_less_than(self, before: "Charges") -> bool:
        """Return whether any queue is charged less of anything than before."""
        return any(
            now != then and any(map(operator.lt, now, then))
            for key, now in self.total.items()
            for then in (before.total[key],)
        )

    def add(self, row: int, key: FlavorResource, amount: int) -> None:
        """Charge an amount to a queue and to all above it; release it where it is negative."""
        parents, guaranteed = self.promises.trees.parents, self.promises.terms[key].guaranteed
        used, total = self.used[key], self.total[key]
        beyond = amount
        self.version += 1
        while row >= 0:
            total[row] += amount
            before = used[row]
            used[row] = before + beyond
            beyond = _beyond(before, beyond, guaranteed[row])
            row = parents[row]

    def used_after(self, leaf: int, top: int, key: FlavorResource, amount: int) -> int:
        """Return what would count against `top`, a row above the leaf or itself, once charged."""
        parents, guaranteed = self.promises.trees.parents, self.promises.terms[key].guaranteed
        used = self.used[key]
        while leaf != top:
            amount = _beyond(used[leaf], amount, guaranteed[leaf])
            leaf = parents[leaf]
        return used[top] + amount


def _beyond(used: int, more: int, guaranteed: int) -> int:
    """Return how much of what is charged more counts in the queue above."""
    return max(0, used + more - guaranteed) - max(0, used - guaranteed)


def charges_of(state: QueueState, promises: Promises) -> Charges:
    """Return what a state charges; made once for a usage. Not to be changed."""
    return state.declared.derive(
        "charges", (promises, state.usage), lambda: _charged(state.usage, promises)
    )


def _charged(usage: QueueUsage, promises: Promises) -> Charges:
    charges = Charges(promises)
    for ref, charge in usage.charged.items():
        for row, key, amount in entries(promises, ref, charge):
            charges.add(row, key, amount)
    return charges


def entries(
    promises: Promises, ref: QueueRef, charge: Charge
) -> list[tuple[int, FlavorResource, int]]:
    """Return what of a charge is kept, with the row of its queue; nothing where there is none."""
    trees = promises.trees
    row = trees.rows.get(ref)
    if row is None:
        return []
    governed = trees.governed[trees.root(row)]
    return [(row, key, amount) for key, amount in charge.items() if amount and key in governed]


def add_up(
    sums: dict[QueueRef, dict[FlavorResource, int]], ref: QueueRef, charge: Charge, sign: int = 1
) -> None:
    """Add to what queues are charged, or take away."""
    of_queue = sums.setdefault(ref, {})
    for key, amount in charge.items():
        of_queue[key] = of_queue.get(key, 0) + sign * amount
