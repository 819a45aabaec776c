"""Allocations of our plans, assumed until the API server shows them, and allocations taken back."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from gang_scheduler.model.device_needs import ClaimAllocation
from gang_scheduler.model.devices import Allocation


@dataclass(slots=True, eq=False)
class _Assumed:
    """An assumed allocation, and the uids of the pods that need it.

    `version` is the resourceVersion of our write, 0 before. `is_made`: the claim is made by us.
    """

    allocation: Allocation
    is_made: bool = False
    pods: set[str] = field(default_factory=set)
    version: int = 0


class AssumedAllocations:
    """The assumed allocations by claim, and the claims of each pod that was assumed on a node.

    Claims are named by `namespace/name`.
    """

    def __init__(self) -> None:
        self._assumed: dict[str, _Assumed] = {}
        self._claims: dict[str, tuple[ClaimAllocation, ...]] = {}

    def assume(self, uid: str, claims: Iterable[ClaimAllocation]) -> Collection[str]:
        """Assume the allocations of a pod's claims; return the claims whose allocation changed."""
        changed = {*self.forget(uid)}
        self._claims[uid] = tuple(claims)
        for each in self._claims[uid]:
            if each.is_new:
                assumed = _Assumed(each.allocation, is_made=bool(each.extended))
                known = self._assumed.setdefault(each.claim, assumed)
                known.pods.add(uid)
                changed.add(each.claim)
        return changed

    def forget(self, uid: str) -> Collection[str]:
        """Drop allocations assumed only for this pod and not written; return their claims."""
        forgotten = set()
        for each in self._claims.pop(uid, ()):
            known = self._assumed.get(each.claim)
            if known is None:
                continue
            known.pods.discard(uid)
            if not known.pods and not known.version:
                del self._assumed[each.claim]
                forgotten.add(each.claim)
        return forgotten

    def of(self, uid: str) -> tuple[ClaimAllocation, ...]:
        """Return the claims of a pod that was assumed on a node."""
        return self._claims.get(uid, ())

    def pods(self, claim: str) -> Collection[str]:
        """Return the uids of the pods for which an allocation is assumed."""
        known = self._assumed.get(claim)
        return () if known is None else known.pods

    def is_assumed(self, uid: str) -> bool:
        """Return whether a plan of ours that is being carried out has this pod."""
        return uid in self._claims

    def allocation(self, claim: str) -> Allocation | None:
        """Return the assumed allocation of a claim."""
        known = self._assumed.get(claim)
        return None if known is None else known.allocation

    def written(self, claim: str, version: int, allocation: Allocation | None) -> None:
        """Note the allocation that was written: earlier versions of the claim are outdated."""
        if allocation is None:
            self.gone(claim)
            return
        known = self._assumed.setdefault(claim, _Assumed(allocation))
        known.version = max(known.version, version)

    def shown(self, claim: str, version: int) -> bool:
        """Note the version that the API server shows; return whether it ends an assumption."""
        known = self._assumed.get(claim)
        if known is None or not 0 < known.version <= version:
            return False
        return self.gone(claim)

    def is_made(self, claim: str) -> bool:
        """Return whether a plan of ours makes the claim."""
        known = self._assumed.get(claim)
        return known is not None and known.is_made

    def gone(self, claim: str, version: int | None = None) -> bool:
        """Note that nothing is assumed about a claim any more; return whether something was.

        With the `version` in which a claim was deleted, assumptions about later writes stay.
        """
        known = self._assumed.get(claim)
        is_later = known is not None and (not known.version or known.version > (version or 0))
        if known is None or (version is not None and known.is_made and is_later):
            return False
        del self._assumed[claim]
        return True


class Withdrawals:
    """Claims whose devices or users are being taken back, until the watch shows the result.

    Until then, the claim as last seen must not be used. Claims are named by `namespace/name`.
    """

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()
        self._written: dict[str, int] = {}

    def __contains__(self, claim: str) -> bool:
        return claim in self._begun or claim in self._written

    def begin(self, claim: str) -> None:
        """Note that a claim is being withdrawn; each call needs an `end`."""
        self._begun[claim] += 1

    def end(self, claim: str) -> None:
        """Note that a withdrawal was done, skipped or given up."""
        self._begun[claim] -= 1
        if not self._begun[claim]:
            del self._begun[claim]

    def written(self, claim: str, version: int) -> None:
        """Note the resourceVersion in which the watch will show the result."""
        self._written[claim] = max(version, self._written.get(claim, 0))

    def shown(self, claim: str, version: int | None) -> None:
        """Note the version that the watch shows; None if it shows no such claim."""
        if version is None or self._written.get(claim, version) <= version:
            self._written.pop(claim, None)
