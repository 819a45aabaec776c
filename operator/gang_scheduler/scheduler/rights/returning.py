"""Whether a victim would take back at once what it was evicted for."""

from collections.abc import Iterable, Sequence

from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.queues import Charge
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.rights.claims import Claim, Held
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rights import Part, Quota, Rights

_PREEMPTOR = "preemptor"
_UNKNOWN = GangKey("", "", "")


def returning(
    quota: Quota, claim: Claim, parts: Sequence[Part], limits: Limits
) -> frozenset[GangKey]:
    """Return the victims that wait in the final state and could evict the preemptor alone.

    Only what lacks quota then counts, and only the preemptor as a victim. `quota` has the victims
    charged, and the claim not; it is left as it was.
    """
    for each in parts:
        quota.release(each.held.ref, each.charge)
    quota.charge(claim.ref, claim.charge)
    try:
        return frozenset(
            held.key for held, charge in _whole(parts) if _could(quota, claim, held, charge, limits)
        )
    finally:
        quota.release(claim.ref, claim.charge)
        for each in parts:
            quota.charge(each.held.ref, each.charge)


def _whole(parts: Iterable[Part]) -> Iterable[tuple[Held, Charge]]:
    """Return the gangs that go as a whole and may evict: surplus that waits evicts nothing."""
    return (
        (part.held, part.charge if part.quorum is None else part.quorum)
        for part in parts
        if part.whole and part.held.preempts
    )


def _could(quota: Quota, claim: Claim, held: Held, charge: Charge, limits: Limits) -> bool:
    """Return whether a gang that was evicted has the right to evict the preemptor."""
    back = Claim(
        held.ref,
        charge,
        held.priority,
        held.known.created_at,
        (held.key,),
        held.pod_priority,
    )
    rights = Rights(quota, back, limits)
    if not rights.short:
        return False
    there = Part(_as_held(claim), claim.charge)
    return not rights.lacking([there]) and not rights.judge([there]).illegal


def _as_held(claim: Claim) -> Held:
    """Return the preemptor as a gang that runs, for as long as any queue asks."""
    return Held(
        next(iter(claim.gangs), _UNKNOWN),
        claim.ref,
        claim.priority,
        RunningGang(created_at=claim.created_at),
        {_PREEMPTOR: claim.charge},
        claim.pod_priority,
    )
