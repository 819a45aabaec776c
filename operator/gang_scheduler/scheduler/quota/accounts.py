"""A queue's charges and promises, as they are or after one more charge."""

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FAIRNESS,
    Charge,
    FlavorResource,
    Queue,
    QueueSet,
    QueueState,
    QueueUsage,
)
from gang_scheduler.scheduler.quota.charges import Charges, FairShares, charges_of, fair_shares
from gang_scheduler.scheduler.quota.promises import Promises, lendable, promises_of


class Share(NamedTuple):
    """A number by which sibling queues are compared: the smallest has the next turn."""

    is_infinite: bool = False
    number: Fraction = Fraction(0)


NO_SHARE: Final = Share()
MOST_SHARES: Final = 4096
"""At most this many computed shares are kept."""


def share_of(amount: int, whole: int | Fraction, weight: Fraction = Fraction(1)) -> Share:
    """Return a charged amount as a share of a whole, divided by the weight of the queue.

    The share is infinite if the whole or the weight is zero. Two queues of weight zero are then
    compared by their unweighted shares.
    """
    if amount <= 0:
        return NO_SHARE
    if whole <= 0:
        return Share(is_infinite=True, number=Fraction(amount))
    if weight <= 0:
        return Share(is_infinite=True, number=Fraction(amount, whole))
    return _share(
        amount * weight.denominator * whole.denominator, whole.numerator * weight.numerator
    )


@functools.lru_cache(MOST_SHARES)
def _share(amount: int, whole: int) -> Share:
    # Equal values share one object: comparing fractions takes longer than the rest of a turn.
    return Share(number=Fraction(amount, whole))


class Comparison(enum.Enum):
    """The comparison that decides whether one borrowing queue may evict a gang of another."""

    PRIORITIES = enum.auto()
    """The priorities of both gangs."""
    SHARES = enum.auto()
    """The shares of both queues."""
    DUES = enum.auto()
    """The share of each queue is compared with 1, which is all that it should have."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """The nominal quota, charges and demand of all queues; each queue has a row."""

    declared: QueueSet
    usage: QueueUsage
    promises: Promises
    charges: Charges

    def copy(self) -> "Accounts":
        """Return the same accounts with independent charges."""
        return replace(self, charges=self.charges.copy())

    def queue(self, row: int) -> Queue:
        """Return the queue of a row."""
        return self.promises.trees.queues[row]

    def fairness(self, root: int) -> Fairness:
        """Return the fairness by which the queues of a tree take turns."""
        queue = self.queue(root)
        said = queue.fairness or self.declared.fairness.get(queue.ref.product)
        return said or DEFAULT_FAIRNESS[queue.ref.product]

    @functools.cached_property
    def fair_shares(self) -> FairShares:
        """The fair shares before any charge of this cycle."""
        return self.declared.cached("fair_shares", (self.promises, self.usage), self._fair_shares)

    def _fair_shares(self) -> FairShares:
        charges = charges_of(QueueState(self.declared, self.usage), self.promises)
        return fair_shares(self.promises, charges, self.usage)

    @functools.cached_property
    def recent(self) -> Mapping[int, Mapping[str, int]] | None:
        """The recent usage of each queue with its subtree; None if recent usage does not count."""
        return self.declared.cached(
            "recent", (self.promises, self.usage), lambda: _recent(self.promises, self.usage)
        )

    @property
    def lasting(self) -> "Accounts":
        """The same accounts without recent usage."""
        if self.recent is None:
            return self
        return _Lasting(self.declared, self.usage, self.promises, self.charges)

    def now(self, row: int) -> "Standing":
        """Return the standing of a queue now, for all resources that its tree has numbers for."""
        used, total = self.charges.used, self.charges.total
        keys = sorted(self.promises.trees.governed[self.promises.trees.root(row)])
        return Standing(
            self,
            row,
            {},
            {key: used[key][row] for key in keys},
            {key: total[key][row] for key in keys},
        )

    def after(self, leaf: int, row: int, charge: Charge) -> "Standing":
        """Return how a queue stands once a leaf below it is charged.

        Only resources that the charge asks for are part of the result.
        """
        charges, governed = self.charges, self.promises.trees.governed
        keys = governed[self.promises.trees.root(leaf)]
        asked = {key: amount for key, amount in charge.items() if amount > 0 and key in keys}
        used = {key: charges.used_after(leaf, row, key, more) for key, more in asked.items()}
        total = {key: charges.total[key][row] + more for key, more in asked.items()}
        return Standing(self, row, asked, used, total)


class _Lasting(Accounts):
    """Accounts without recent usage."""

    @property
    def recent(self) -> None:
        """None: recent usage does not count."""


@dataclass(frozen=True, eq=False, slots=True)
class Standing:
    """The charges of a queue and its subtree, for the resources that one request asks for.

    `used` is the charge that counts against the queue's promise, `total` the charge of all leaves
    below. Both include `asked`, the request itself, which the accounts do not have yet.
    """

    accounts: Accounts
    row: int
    asked: Charge
    used: Mapping[FlavorResource, int]
    total: Mapping[FlavorResource, int]

    @property
    def borrows(self) -> bool:
        """Whether usage exceeds the promise for one of these keys."""
        terms, row = self.accounts.promises.terms, self.row
        return any(used > terms[key].nominal[row] for key, used in self.used.items())

    @property
    def parts(self) -> int:
        """The number of summands in `held`: the charge and, if it counts, the recent usage."""
        return 1 if self.accounts.recent is None else 2

    def held(self, resource: str) -> int:
        """Return the charge of a resource in all flavors, plus the recent usage."""
        accounts, row = self.accounts, self.row
        held = 0
        for key in accounts.promises.by_resource(row)[resource]:
            total = self.total.get(key)
            held += accounts.charges.total[key][row] if total is None else total
        recent = accounts.recent
        return held + (0 if recent is None else recent[row].get(resource, 0))


def borrowed_share(standing: Standing) -> Share:
    """Return the largest fraction of lendable quota that a queue borrows, divided by its weight.

    All resources count, requested or not. A root borrows nothing.
    """
    promises, row = standing.accounts.promises, standing.row
    parent = promises.trees.parents[row]
    if parent < 0:
        return NO_SHARE
    weight = standing.accounts.queue(row).weight
    shares = [NO_SHARE]
    for resource in promises.by_resource(row):
        borrowed = _borrowed(standing, resource)
        if borrowed and (whole := lendable(promises, parent, resource)) > 0:
            shares.append(share_of(borrowed, whole, weight))
    return max(shares)


def _borrowed(standing: Standing, resource: str) -> int:
    accounts, row = standing.accounts, standing.row
    borrowed = 0
    for fr in accounts.promises.by_resource(row)[resource]:
        used = standing.used.get(fr)
        if used is None:
            used = accounts.charges.used[fr][row]
        borrowed += max(0, used - accounts.promises.terms[fr].nominal[row])
    return borrowed


def accounts_of(state: QueueState, nodes: NodeTable) -> Accounts:
    """Return the accounts of a state, with charges that can be changed."""
    promises = promises_of(state.declared, nodes)
    charges = charges_of(state, promises).copy()
    return Accounts(state.declared, state.usage, promises, charges)


def _recent(promises: Promises, usage: QueueUsage) -> Mapping[int, Mapping[str, int]] | None:
    if usage.recent is None:
        return None
    trees = promises.trees
    found: dict[int, dict[str, int]] = {row: {} for row in range(len(trees))}
    for ref, amounts in usage.recent.items():
        if (leaf := trees.rows.get(ref)) is not None:
            for row in trees.paths[leaf]:
                for resource, amount in amounts.items():
                    found[row][resource] = found[row].get(resource, 0) + amount
    return found
