"""Where two queues meet in a tree, and which queues use more than they were promised."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gang_scheduler.model.queues import Charge, FlavorResource
from gang_scheduler.scheduler.quota.accounts import Accounts


class Meeting(NamedTuple):
    """Two leaves of one tree, and the children of the lowest queue above both on either way.

    `ours` are the rows from our leaf up to that child, `theirs` those of the other leaf.
    """

    ours: tuple[int, ...]
    theirs: tuple[int, ...]

    @property
    def our_child(self) -> int:
        """The child on our way."""
        return self.ours[-1]

    @property
    def their_child(self) -> int:
        """The child on the other way."""
        return self.theirs[-1]


def meeting(accounts: Accounts, ours: int, theirs: int) -> Meeting | None:
    """Return where two rows meet; None in different trees, or if one is above the other."""
    ways = accounts.promises.trees.ways
    one, other = ways[ours], ways[theirs]
    shared = sum(1 for _ in _shared(one, other))
    if not 0 < shared < min(len(one), len(other)):
        return None
    return Meeting(one[shared:][::-1], other[shared:][::-1])


def _shared(one: Sequence[int], other: Sequence[int]) -> Iterable[int]:
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a


def is_within(accounts: Accounts, row: int, charge: Charge) -> bool:
    """Return whether a queue uses no more than it was promised, of what is asked for."""
    used, terms = accounts.charges.used, accounts.promises.terms
    governed = accounts.promises.trees.governed[accounts.promises.trees.root(row)]
    return all(
        used[key][row] <= terms[key].nominal[row]
        for key, amount in charge.items()
        if amount > 0 and key in governed
    )


def is_over(accounts: Accounts, row: int, keys: Iterable[FlavorResource]) -> bool:
    """Return whether a queue uses more than it was promised, of one of the keys."""
    used, terms = accounts.charges.used, accounts.promises.terms
    return any(used[key][row] > terms[key].nominal[row] for key in keys)


def keys_at(
    accounts: Accounts,
    row: int,
    lacking: Iterable[FlavorResource],
    resources: Collection[str],
) -> frozenset[FlavorResource]:
    """Return what is lacking as the tree of a row governs it: keys, and resources of any flavor."""
    governed = accounts.promises.trees.governed[accounts.promises.trees.root(row)]
    own = {key for key in lacking if key in governed}
    return frozenset(own | {key for key in governed if key.resource in resources})
