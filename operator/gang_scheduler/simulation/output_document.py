"""The output document of `simulate`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from gang_scheduler.api.annotations import REPLICATED_JOB_LABEL
from gang_scheduler.model import refs
from gang_scheduler.model.devices import DeviceResult
from gang_scheduler.model.plan import Bind, Preemption, Refused, Reservation
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestedPodSet
from gang_scheduler.model.queues import QueueFigures, QueueRef
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import quantity_of
from gang_scheduler.model.suspended import Admission
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report.queues import status
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.text import foreign_members
from gang_scheduler.simulation.run import Outcome
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.workloads import table

# ProvisioningRequests: of the input, and new ones that the scheduler would make.

Json = dict[str, Any]


def provisioning_requests(cache: Cache) -> Json:
    """Return the requests for nodes by gang; no field if nodes cannot be requested."""
    state = cache.provisioning
    if not state.is_on:
        return {}
    decided = {
        each.request.name: each.node_request.pod_sets for each in state.requests.decided.values()
    }
    known = sorted(state.requests.all(), key=lambda each: (each.gang, each.attempt))
    return {"provisioning": [_row(each, decided.get(each.name)) for each in known]}


def _row(request: ProvisioningRequest, new: tuple[RequestedPodSet, ...] | None) -> Json:
    return {
        "gang": str(request.gang),
        "request": request.name,
        "class": request.class_name,
        "attempt": request.attempt,
        "state": request.state.value,
        "new": new is not None,
        **({} if new is None else {"podSets": [_pod_set(each) for each in new]}),
    }


def _pod_set(each: RequestedPodSet) -> Json:
    asked = {name: quantity_of(name, n) for name, n in each.pod.pod_class.requests}
    asked.pop("pods", None)
    labels = {"nodeLabels": dict(each.node_labels)} if each.node_labels else {}
    return {"pod": each.pod.key, "count": each.number, "requests": asked, **labels}


# The fields of a gang that exist only with queues.

MAIN: Final = "main"
"""The name of the podset of a pod that names none, as in Kueue."""
PODSET_LABELS: Final = ("kueue.x-k8s.io/podset", REPLICATED_JOB_LABEL)

Flavors = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Queued:
    """Decisions about queues: places of gangs, flavors of pods (by uid), and gangs that borrow."""

    queue_of: Callable[[GangKey], QueueRef | None]
    places: Mapping[GangKey, int]
    flavors: Mapping[str, Flavors]
    borrowers: frozenset[GangKey]

    @classmethod
    def of(cls, outcome: Outcome) -> "Queued":
        """Return the decisions of an outcome."""
        return cls(
            outcome.cache.queue_of,
            places(outcome.queues),
            {bind.pod.uid: bind.flavors for bind in _binds(outcome)},
            frozenset(each.gang.key for each in outcome.placed if each.borrows),
        )

    def row(self, info: GangInfo) -> dict[str, Any]:
        """Return the queue fields of a gang."""
        ref = self.queue_of(info.key)
        return {
            "queue": ref.name if ref else None,
            "flavors": self._by_podset(info),
            "borrows": info.key in self.borrowers,
            "position": self.places.get(info.key),
        }

    def _by_podset(self, info: GangInfo) -> dict[str, dict[str, str]]:
        """Return the flavors by podset; podsets that are charged in the same flavors are merged."""
        found: dict[str, dict[str, str]] = {}
        for pod in info.observed.living:
            flavors = dict(self.flavors.get(pod.uid) or _written(pod))
            if flavors and flavors not in found.values():
                name = _podset_of(pod)
                found[f"{name}-{len(found) + 1}" if name in found else name] = flavors
        return found


def _binds(outcome: Outcome) -> Iterator[Bind]:
    yield from (bind for _, bind in outcome.nominated)
    yield from (bind for placed in outcome.placed for bind in placed.binds)


def _written(pod: Pod) -> Flavors:
    return pod.charged_to.flavors if pod.charged_to else ()


def _podset_of(pod: Pod) -> str:
    return next((pod.labels[key] for key in PODSET_LABELS if key in pod.labels), MAIN)


# Queues.


def queue_rows(figures: Sequence[QueueFigures]) -> list[Json]:
    """Return the rows of declared queues, and of implied queues that are used."""
    return [_queue(each) for each in figures if status.is_worth_a_line(each)]


def places(figures: Sequence[QueueFigures]) -> dict[GangKey, int]:
    """Return the place of each waiting gang in its queue; 1 is the next."""
    return {key: place for each in figures for place, key in enumerate(each.pending, start=1)}


def _queue(figures: QueueFigures) -> Json:
    queue, activity, share = figures.queue, status.activity(figures), figures.share
    return {
        "queue": queue.ref.name,
        "kind": queue.ref.kind.value,
        "parent": queue.parent.name if queue.parent else None,
        "active": activity.status,
        "reason": activity.reason,
        "weight": _number(queue.weight),
        "resources": [status.amounts_of(*each) for each in figures.amounts.items()],
        "share": None if share is None else round(float(share), status.SHARE_DIGITS),
        "running": figures.running,
        "pending": [str(key) for key in figures.pending],
    }


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


# The whole document.


def document(outcome: Outcome) -> Json:
    """Return the decisions as JSON values, in their order."""
    queued = Queued.of(outcome) if outcome.queues else None
    names = _Names(each.key for each in outcome.cache.described_gangs())
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Simulation",
        "bindings": _bindings(outcome, names),
        "nominations": [_nomination(*each, outcome.cache, names) for each in outcome.nominated],
        "victims": [*_victims(outcome, names)],
        "unschedulable": [
            *(_waiting(each, names) for each in outcome.refused),
            *(_foreign(each, outcome.cache, names) for each in of_others(outcome.cache)),
        ],
        "gangs": [_gang(each, outcome, queued, names) for each in outcome.cache.described_gangs()],
        **(_queues(outcome) if outcome.queues else {}),
        **provisioning_requests(outcome.cache),
    }


class _Names:
    """The names of gangs; several gangs with one name also get their source."""

    def __init__(self, keys: Iterable[GangKey]) -> None:
        numbers = Counter(key.called for key in keys)
        self._shared = {name for name, number in numbers.items() if number > 1}

    def of(self, key: GangKey) -> Json:
        """Return the fields that identify the gang of a row."""
        source = {"source": key.source} if key.called in self._shared else {}
        return {"gang": str(key), **source}


def _queues(outcome: Outcome) -> Json:
    return {
        "queues": queue_rows(outcome.queues),
        "reservations": [*map(_reservation, outcome.reservations)],
        "admissions": [*map(_admission, outcome.admissions)],
    }


def _admission(admission: Admission) -> Json:
    nodes = Counter(filter(None, admission.nodes))
    return {
        "object": str(admission.workload),
        "queue": admission.queue,
        "nodes": [{"node": name, "pods": number} for name, number in nodes.items()],
    }


def _reservation(reservation: Reservation) -> Json:
    start, after = reservation.start, reservation.after
    return {
        "gang": str(reservation.gangs[0].key),
        "start": None if start is None else rfc3339(start),
        "after": None if after is None else str(after),
        "flavors": dict(reservation.flavors),
    }


def _bindings(outcome: Outcome, names: _Names) -> list[Json]:
    users = _claim_users(
        (bind for placed in outcome.placed for bind in placed.binds), outcome.cache
    )
    return [
        {
            "pod": bind.pod.key,
            "node": bind.node,
            **names.of(placed.gang.key),
            **_claims_of_bind(bind, outcome.cache, users),
        }
        for placed in outcome.placed
        if placed.gang.suspended is None
        for bind in placed.binds
    ]


def _nomination(gang: GangKey, bind: Bind, cache: Cache, names: _Names) -> Json:
    row = {"pod": bind.pod.key, "node": bind.node, **names.of(gang)}
    return {**row, **_claims_of_bind(bind, cache, {})}


def _victims(outcome: Outcome, names: _Names) -> Iterator[Json]:
    for preemption in outcome.preemptions:
        for victim in preemption.victims:
            has_gang = victim.gang.source != refs.SINGLE.name
            yield {
                "pod": victim.pod.key,
                "node": victim.pod.node,
                **(names.of(victim.gang) if has_gang else {"gang": None}),
                "preemptor": str(preemption.gangs[0].key),
                **_claims_of_victim(victim.pod, preemption),
                **_class(preemption, victim.gang),
            }


def _class(preemption: Preemption, gang: GangKey) -> Json:
    """Return the field with the eviction class of a gang; no field without queues."""
    found = preemption.classes.get(gang)
    return {} if found is None else {"class": found.shown}


def _waiting(refused: Refused, names: _Names) -> Json:
    return {
        **names.of(refused.gang.key),
        "pods": [pod.key for pod in refused.pods],
        "reason": refused.reason.value,
        "message": messages.describe(refused),
    }


def of_others(cache: Cache) -> Iterator[GangInfo]:
    """Yield gangs whose members all belong to other schedulers, and wait for a node."""
    for info in cache.described_gangs():
        foreign = cache.foreign_members.of(info.key)
        if not info.observed.members and any(each.living and not each.node for each in foreign):
            yield info


def _foreign(info: GangInfo, cache: Cache, names: _Names) -> Json:
    """Return the row of a gang whose members all belong to other schedulers."""
    foreign = cache.foreign_members.of(info.key)
    return {
        **names.of(info.key),
        "pods": [pod.key for pod in foreign if pod.living and not pod.node],
        "reason": Reason.WAITING_FOR_MEMBERS.value,
        "message": f"{foreign_members(foreign, cache.schedulers)}.",
    }


def _gang(info: GangInfo, outcome: Outcome, queued: Queued | None, names: _Names) -> Json:
    counts = phases.counts_of(info)
    domain = _domain(info, outcome)
    return {
        **names.of(info.key),
        "phase": phases.phase_of(counts).value,
        "minMember": counts.min_member if _is_described(info) else None,
        "members": counts.members,
        "scheduled": counts.scheduled,
        **_roles(counts),
        "domain": {"layer": domain.layer, "path": list(domain.path)} if domain else None,
        **(queued.row(info) if queued else {}),
        **_workers(info),
        **_evicted(info, outcome),
    }


def _roles(counts: phases.Counts) -> Json:
    """Return the field with the roles of a gang, in rank order; no field without roles."""
    roles = [
        {
            "role": each.role,
            "minMember": each.min_member,
            "members": each.members,
            "scheduled": each.scheduled,
        }
        for each in counts.by_role
    ]
    return {"roles": roles} if roles else {}


def _workers(info: GangInfo) -> Json:
    """Return the field with the workers of an elastic gang; no field for other gangs."""
    found = messages.status_of(info)
    return {} if found is None else {"workers": {key: found[key] for key in ("min", "now", "max")}}


def _evicted(info: GangInfo, outcome: Outcome) -> Json:
    return {} if outcome.evictions is None else {"evictions": outcome.evictions.get(info.key, 0)}


def _is_described(info: GangInfo) -> bool:
    """Return whether a gang has its describing object, or its source needs none."""
    kind = table.BY_NAME[info.key.source].object_kind
    return not kind or info.observed.spec is not None


def _domain(info: GangInfo, outcome: Outcome) -> Domain | None:
    return outcome.cache.domain_of(phases.nodes_of(info), info.observed.wanted_topology)


# The devices of claims: in a pod that was placed, and in a victim.


def _claim_users(binds: Iterable[Bind], cache: Cache) -> Mapping[str, Sequence[str]]:
    """Return the holder of each claim once the pods are bound, as RESOURCE/NAME."""
    found: dict[str, list[str]] = {}
    for bind in binds:
        for each in bind.claims:
            user = cache.devices.user_of(bind.pod, each)
            found.setdefault(each.claim, []).append(f"{user.resource}/{user.name}")
    return found


def _claims_of_bind(bind: Bind, cache: Cache, users: Mapping[str, Sequence[str]]) -> Json:
    """Return the fields `claims` and `extended` of a pod with devices; no field for other pods.

    `users` are the objects that will use each claim, in addition to its present users. The devices
    of extended resources are listed without a claim: the scheduler creates that claim.
    """
    if not bind.pod.claims and bind.pod.pod_class.devices is None:
        return {}
    found = {}
    extended = [one for each in bind.claims if each.extended for one in each.allocation.results]
    for each in bind.claims:
        if each.extended:
            continue
        known = cache.devices.claims.get(each.claim)
        holders = [f"{by.resource}/{by.name}" for by in (known.reserved_for if known else ())]
        holders += users.get(each.claim, ())
        found[each.entry] = {
            "claim": each.claim,
            "devices": [_device(result) for result in each.allocation.results],
            "reservedFor": list(dict.fromkeys(holders)),
        }
    return {"claims": found, "extended": [_device(result) for result in extended]}


def _claims_of_victim(pod: Pod, preemption: Preemption) -> Json:
    """Return the field `frees` of a victim with device claims; no field for other pods."""
    if not pod.claims and pod.uid not in preemption.frees:
        return {}
    return {"frees": [str(each) for each in preemption.frees.get(pod.uid, ())]}


def _device(result: DeviceResult) -> Json:
    return {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        "shareID": result.share_id or None,
        "consumedCapacity": {name: str(amount) for name, amount in result.consumed.items()},
        "adminAccess": result.admin,
    }
