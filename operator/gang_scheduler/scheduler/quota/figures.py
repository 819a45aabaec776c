"""The figures that people see of each queue: quota promised, used, borrowed and lent."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gang_scheduler.model.queues import NONE, ROOT, Amounts, FlavorResource, QueueFigures, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU
from gang_scheduler.scheduler.ordering.fairness import policy_of
from gang_scheduler.scheduler.quota.accounts import Accounts
from gang_scheduler.scheduler.quota.charges import FairShares

_NOTHING: Final = Amounts()


def figures(
    accounts: Accounts,
    pending: Mapping[QueueRef, tuple[GangKey, ...]],
    admitted: Mapping[QueueRef, int],
) -> Iterator[QueueFigures]:
    """Yield the figures of all queues, parents first.

    A queue that no object declares is left out while it is idle. `admitted` counts groups that hold
    quota in addition to those in the snapshot.
    """
    trees, fair_shares = accounts.promises.trees, accounts.fair_shares
    lent = {key: _lent(accounts, key) for key in accounts.promises.terms}
    running = _running(accounts, admitted)
    idle = _implied_and_idle(accounts, running, pending)
    for row, queue in enumerate(trees.queues):
        if queue.ref in idle:
            continue
        share = policy_of(accounts, row).share(accounts.now(row))
        yield QueueFigures(
            queue,
            _amounts(accounts, row, lent, fair_shares),
            None if share.is_infinite else share.number,
            trees.problems[row],
            _oversubscribed(accounts, row),
            running[row],
            pending.get(queue.ref, ()),
        )


def _running(accounts: Accounts, admitted: Mapping[QueueRef, int]) -> list[int]:
    trees = accounts.promises.trees
    running = [0] * len(trees)
    for counts in (accounts.usage.running, admitted):
        for ref, count in counts.items():
            for row in trees.paths[trees.rows[ref]] if ref in trees.rows else ():
                running[row] += count
    return running


def _implied_and_idle(
    accounts: Accounts, running: Sequence[int], pending: Mapping[QueueRef, tuple[GangKey, ...]]
) -> set[QueueRef]:
    """Return which of `root` and `none` are neither declared nor used."""
    trees = accounts.promises.trees
    declared = {queue.ref for queue in accounts.declared.queues}
    row = trees.rows[NONE]
    charged = (accounts.usage.charged.get(NONE), accounts.usage.asked.get(NONE))
    held = any(accounts.charges.total[key][row] for key in accounts.promises.terms)
    if NONE in declared or held or any(charged) or running[row] or pending.get(NONE):
        return set()
    others = len(trees.children[trees.rows[ROOT]]) > 1
    return {NONE} if ROOT in declared or others else {NONE, ROOT}


def _amounts(
    accounts: Accounts,
    row: int,
    lent: Mapping[FlavorResource, Sequence[int]],
    fair_shares: FairShares,
) -> dict[FlavorResource, Amounts]:
    """Return the figures of a queue for each resource that its tree has a number for."""
    promises, charges = accounts.promises, accounts.charges
    declared = promises.trees.queues[row].quotas
    found = {}
    for key in sorted(promises.trees.governed[promises.trees.root(row)]):
        terms = promises.terms[key]
        amounts = Amounts(
            terms.promised[row],
            charges.total[key][row],
            max(0, charges.used[key][row] - terms.nominal[row]),
            lent[key][row],
            fair_shares[key][row],
        )
        if amounts != _NOTHING or key in declared:
            found[key] = amounts
    return found


def _oversubscribed(accounts: Accounts, row: int) -> dict[FlavorResource, tuple[int, int]]:
    """Return (promised below, own amount) for the keys where a queue has less than was promised."""
    return {
        key: (terms.promised[row], terms.oversubscribed[row])
        for key, terms in accounts.promises.terms.items()
        if row in terms.oversubscribed
    }


def _lent(accounts: Accounts, key: FlavorResource) -> list[int]:
    """Return how much of each queue's quota its siblings use, beyond their parent's own quota."""
    trees, terms = accounts.promises.trees, accounts.promises.terms[key]
    used = accounts.charges.used[key]
    lent = [0] * len(trees)
    for row, children in enumerate(trees.children):
        borrowed = sum(max(0, used[each] - terms.nominal[each]) for each in children)
        needed = borrowed - terms.pool[row]
        if needed > 0:
            idle = [_idle(terms.nominal[c], terms.guaranteed[c], used[c]) for c in children]
            parts = _lend(key, min(needed, sum(idle)), idle)
            for child, part in zip(children, parts, strict=True):
                lent[child] = part
    return lent


def _idle(nominal: int, guaranteed: int, used: int) -> int:
    return max(0, nominal - guaranteed - max(0, used - guaranteed))


def _lend(key: FlavorResource, needed: int, idle: Sequence[int]) -> list[int]:
    """Split the needed amount among queues in proportion to their idle quota.

    CPUs are split as whole CPUs if all amounts are whole.
    """
    unit = 1000 if key.resource == CPU else 1
    if any(amount % unit for amount in (needed, *idle)):
        unit = 1
    parts = in_proportion(needed // unit, [amount // unit for amount in idle])
    return [part * unit for part in parts]


def in_proportion(total: int, parts: Sequence[int]) -> list[int]:
    """Split a total in proportion to the given parts.

    The total is at most their sum. Rounding leaves a few units; the first parts that were cut get
    one each.
    """
    whole = sum(parts)
    given = [total * part // whole if whole else 0 for part in parts]
    over = total - sum(given)
    # Fewer units are left over than parts were cut, so every cut part has room for one.
    for place in [each for each, part in enumerate(parts) if given[each] < part][:over]:
        given[place] += 1
    return given
