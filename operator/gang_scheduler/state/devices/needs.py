"""The devices that a waiting pod needs, from the present state of its claims.

The rules are those of kube-scheduler's DynamicResources. Values that differ between otherwise equal
pods are left out, so that such members are of one class.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gang_scheduler.model.causes import devices as causes
from gang_scheduler.model.causes.devices import (
    ClaimBeingDeleted,
    ClaimBeingWithdrawn,
    ClaimInvalid,
    ClaimNotCreated,
    ClaimObjectMissing,
    ClaimOfAnother,
)
from gang_scheduler.model.device_needs import DeviceNeed, DeviceNeeds, PodClaim
from gang_scheduler.model.devices import (
    MOST_CONSUMERS,
    MOST_RESULTS,
    Allocation,
    Claim,
    ClaimSpec,
    ClaimTemplate,
    DeviceClass,
    DeviceId,
    DeviceResult,
    Invalid,
    Mode,
    Request,
    SubRequest,
)
from gang_scheduler.model.devices import Problem as Fault
from gang_scheduler.model.extended_resources import ExtendedNeed, claim_name, need_of
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import NATIVE, GangKey, natural_key
from gang_scheduler.model.selectors import NodeTerm


@dataclass(frozen=True, slots=True)
class Known:
    """Look-ups of objects by key, and of facts about them.

    `allocation` returns the allocation of a claim, written or assumed. `users` returns the pods
    that name a claim and have not ended, `is_shared` whether there are several, and `first` the uid
    of the one that is charged. `is_of_group` returns whether an entry of a pod is reserved for its
    native PodGroup, or may be: the PodGroup is not known. `offered` has the DeviceClass of each
    resource that stands for devices. `avoided` returns the devices that failed a gang a short time
    ago. `is_withdrawn` returns whether a claim is about to lose its devices or users. `amount`
    returns the amount that quotas count for a device, allocated or the largest that a request can
    select; None if quotas count devices. `number_of_all` returns how many devices a request for all
    of them may get.
    """

    claim: Callable[[str], Claim | None]
    device_class: Callable[[str], DeviceClass | None]
    template: Callable[[str], ClaimTemplate | None]
    allocation: Callable[[Claim], Allocation | None]
    users: Callable[[str], list[Pod]]
    is_shared: Callable[[str], bool] = lambda _: False
    first: Callable[[str], str] = lambda _: ""
    is_of_group: Callable[[Pod, PodClaim], bool] = lambda _, __: False
    offered: Callable[[], Mapping[str, str]] = dict
    avoided: Callable[[GangKey], tuple[DeviceId, ...]] = lambda _: ()
    is_withdrawn: Callable[[str], bool] = lambda _: False
    amount: Callable[[SubRequest, DeviceResult | None], int | None] = lambda _, __: None
    number_of_all: Callable[[SubRequest], int] = lambda _: 1


def needs_of(pod: Pod, known: Known) -> DeviceNeeds:
    """Return the needs of a pod without a node."""
    if pod.virtual:
        return _of_templates(pod, known)
    problem = next(_problems(pod, known), None)
    if problem is not None:
        return DeviceNeeds(problem=problem)
    named = [known.claim(key) for key in dict.fromkeys(claim_keys(pod))]
    unallocated: list[DeviceNeed] = []
    nodes: dict[tuple[NodeTerm, ...], None] = {}
    used: list[str] = []
    for claim in named:
        if claim is None:
            continue
        allocation = known.allocation(claim)
        if allocation is None:
            shared = known.is_shared(claim.key)
            unallocated.append(DeviceNeed(claim.spec, claim.key if shared else ""))
            continue
        if allocation.node_selector is not None:
            nodes[allocation.node_selector] = None
        if claim.owner is None or claim.owner.uid != pod.uid:
            used.append(claim.key)
    extended, kept = extended_of(pod, known), _kept(pod, known)
    if kept is not None:
        if kept.deleting or kept.node_selector is None:
            return DeviceNeeds(problem=_being_deleted(special_key(pod), pod))
        nodes[kept.node_selector] = None
    return DeviceNeeds(
        tuple(unallocated),
        tuple(sorted(nodes, key=repr)),
        extended=() if kept else extended,
        kept=kept.of(extended) if kept else (),
        used=tuple(sorted(used)),
        avoided=known.avoided(pod.gang),
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """A pod's claim for extended resources, which an earlier attempt to bind the pod has left."""

    spec: ClaimSpec
    node_selector: tuple[NodeTerm, ...] | None
    deleting: bool

    def of(self, extended: Iterable[ExtendedNeed]) -> tuple[ExtendedNeed, ...]:
        """Return the needs that the claim is for."""
        return tuple(each for each in extended if {*each.requests} <= {*self.spec.requests})


def _kept(pod: Pod, known: Known) -> _Kept | None:
    """Return the claim of a pod for extended resources, if it is allocated or being deleted."""
    claim = known.claim(special_key(pod)) if pod.extended else None
    if claim is None or claim.owner is None or claim.owner.uid != pod.uid:
        return None
    allocation = known.allocation(claim)
    if allocation is None and not claim.deleting:
        return None
    selector = None if allocation is None else allocation.node_selector
    return _Kept(claim.spec, selector, claim.deleting)


def special_key(pod: Pod) -> str:
    """Return `namespace/name` of the claim for extended resources that a pod has or would have."""
    return f"{pod.namespace}/{claim_name(pod.name, pod.uid)}"


def extended_of(pod: Pod, known: Known) -> tuple[ExtendedNeed, ...]:
    """Return the needs of a pod for extended resources that DeviceClasses offer, by resource."""
    offered = known.offered()
    names = sorted({each.resource for each in pod.extended if each.resource in offered})
    needs = (need_of(name, offered[name], pod.extended) for name in names)
    return tuple(each for each in needs if each is not None)


def _being_deleted(claim: str, pod: Pod) -> Problem:
    return Problem(Reason.WAITING_FOR_CLAIMS, ClaimBeingDeleted(claim, pod.key))


def _being_withdrawn(claim: str, pod: Pod) -> Problem:
    return Problem(Reason.WAITING_FOR_CLAIMS, ClaimBeingWithdrawn(claim, pod.key))


def needs_of_another(pod: Pod, known: Known) -> DeviceNeeds:
    """Return the needs of another pod like this one, which does not exist yet."""
    return _of_templates(pod, known)


def claim_keys(pod: Pod) -> list[str]:
    """Return `namespace/name` of all claims that a pod names, or that were created for it."""
    return [f"{pod.namespace}/{each.claim}" for each in pod.claims if each.claim]


def keys_of(pod: Pod) -> list[str]:
    """Return the keys of all claims that a pod may use, for extended resources, too."""
    special = [special_key(pod)] if pod.extended else []
    return [*charged_keys(pod), *special]


def charged_keys(pod: Pod) -> list[str]:
    """Return the keys of all claims of a pod that are charged to one of their users.

    A claim of a native PodGroup that is not created yet has a key that no claim has.
    """
    found = claim_keys(pod)
    if pod.gang.source == NATIVE.name:
        unmade = (each for each in pod.claims if each.template and not each.claim)
        found += (key_of_group(pod, each) for each in unmade)
    return found


def key_of_group(pod: Pod, entry: PodClaim) -> str:
    """Return a key for the claim of an entry that all pods of a native PodGroup will share.

    No claim has such a key.
    """
    return f"{pod.gang}/{entry.entry}"


def template_keys(pod: Pod) -> list[str]:
    """Return `namespace/name` of all templates that a pod names."""
    return [f"{pod.namespace}/{each.template}" for each in pod.claims if each.template]


def _of_templates(pod: Pod, known: Known) -> DeviceNeeds:
    """Return the needs of a pod that does not exist yet: its claims are made with it."""
    needs = []
    nodes: dict[tuple[NodeTerm, ...], None] = {}
    used: list[str] = []
    for entry in pod.claims:
        source: Claim | ClaimTemplate | None
        made = known.claim(f"{pod.namespace}/{entry.claim}") if entry.claim else None
        if made is not None and (not entry.template or is_of_group(made, pod)):
            source = made
        elif entry.template:
            source = known.template(f"{pod.namespace}/{entry.template}")
        else:
            source = None
        if source is None:
            return DeviceNeeds(problem=_missing(pod, entry))
        wrong = next(_faults(source, known), None)
        if wrong is not None:
            return DeviceNeeds(problem=wrong)
        allocation = known.allocation(source) if isinstance(source, Claim) else None
        if allocation is None:
            of_all = source.key if isinstance(source, Claim) else _of_group(pod, entry, known)
            needs.append(DeviceNeed(source.spec, of_all))
            continue
        used.append(source.key)
        if allocation.node_selector is not None:
            nodes[allocation.node_selector] = None
    return DeviceNeeds(
        tuple(needs),
        tuple(sorted(nodes, key=repr)),
        extended=extended_of(pod, known),
        used=tuple(sorted(used)),
    )


def _of_group(pod: Pod, entry: PodClaim, known: Known) -> str:
    """Return the key of the claim that pods of a native PodGroup share; "" for the pod's own."""
    return key_of_group(pod, entry) if known.is_of_group(pod, entry) else ""


def _problems(pod: Pod, known: Known) -> Iterator[Problem]:
    """Yield the problems of claims, in the order of the pod's entries."""
    for entry in pod.claims:
        if entry.unneeded:
            continue
        claim = known.claim(f"{pod.namespace}/{entry.claim}") if entry.claim else None
        if claim is None:
            yield _absent(pod, entry, known)
        elif entry.template and not _is_for(claim, pod):
            yield Problem(Reason.CLAIM_NOT_FOUND, ClaimOfAnother(claim.key, pod.key))
        elif claim.deleting:
            yield _being_deleted(claim.key, pod)
        elif known.is_withdrawn(claim.key):
            yield _being_withdrawn(claim.key, pod)
        elif _place(pod, entry, claim, known) >= MOST_CONSUMERS:
            yield _invalid(claim.key, "", causes.too_many_pods(MOST_CONSUMERS))
        elif known.allocation(claim) is None:
            yield from _faults(claim, known)
    if pod.extended and known.is_withdrawn(special_key(pod)):
        yield _being_withdrawn(special_key(pod), pod)


def _is_for(claim: Claim, pod: Pod) -> bool:
    """Return whether a claim was made for a pod, or for all pods of its native PodGroup."""
    if claim.owner is None:
        return False
    return claim.owner.uid == pod.uid or is_of_group(claim, pod)


def is_of_group(claim: Claim, pod: Pod) -> bool:
    """Return whether a claim was made for the native PodGroup of a pod."""
    if claim.owner is None or pod.gang.source != NATIVE.name:
        return False
    return claim.namespace == pod.namespace and claim.owner.is_pod_group(pod.gang.name)


def _absent(pod: Pod, entry: PodClaim, known: Known) -> Problem:
    if not entry.template:
        return _missing(pod, entry)
    # The status of the pod may be seen before its claim: then the claim is about to be seen.
    if entry.claim or known.template(f"{pod.namespace}/{entry.template}") is not None:
        return Problem(Reason.WAITING_FOR_CLAIMS, ClaimNotCreated(entry.entry, pod.key))
    return _missing(pod, entry)


def _missing(pod: Pod, entry: PodClaim) -> Problem:
    """Return the problem of a pod whose claim or template does not exist."""
    kind = "ResourceClaimTemplate" if entry.template else "ResourceClaim"
    cause = ClaimObjectMissing(kind, entry.template or entry.claim, entry.entry, pod.key)
    return Problem(Reason.CLAIM_NOT_FOUND, cause)


def _place(pod: Pod, entry: PodClaim, claim: Claim, known: Known) -> int:
    """Return how many pods reserve a claim before this one: its users, then pods by name."""
    reserved = {each.uid for each in claim.reserved_for}
    if pod.uid in reserved or known.is_of_group(pod, entry):
        # A native PodGroup is one user, whatever the number of its pods.
        return 0
    users = known.users(claim.key)
    if len(reserved) + len(users) <= MOST_CONSUMERS:
        return 0
    own = natural_key(pod.name)
    waiting = (each for each in users if each.uid not in reserved)
    return len(reserved) + sum(natural_key(each.name) < own for each in waiting)


def _faults(of: Claim | ClaimTemplate, known: Known) -> Iterator[Problem]:
    """Yield the faults of a claim that would never be allocated."""
    yield from (_fault(of.key, "", each) for each in of.problems)
    for request in of.spec.requests:
        for each in request.alternatives:
            name = request.name_of(each)
            device_class = known.device_class(each.device_class)
            if device_class is None:
                yield _invalid(of.key, name, causes.class_missing(each.device_class))
            else:
                faults = device_class.problems
                yield from (_fault(of.key, name, fault, device_class.name) for fault in faults)
    least = sum(map(_least, of.spec.requests))
    if least > MOST_RESULTS:
        yield _invalid(of.key, "", causes.too_many_devices(least, MOST_RESULTS))


def _fault(claim: str, request: str, of: Fault, device_class: str = "") -> Problem:
    if isinstance(of, Invalid):
        text = causes.field_invalid(of.field, of.value, of.expected, device_class)
        return _invalid(claim, request, text)
    text = causes.field_unsupported(of.field, of.gate, device_class)
    return Problem(Reason.UNSUPPORTED_FEATURE, ClaimInvalid(claim, request, text))


def _invalid(claim: str, request: str, fault: str) -> Problem:
    return Problem(Reason.INVALID_CLAIM, ClaimInvalid(claim, request, fault))


def _least(request: Request) -> int:
    """Return the least number of devices that satisfy a request."""
    numbers = (each.count if each.mode is Mode.EXACT_COUNT else 1 for each in request.alternatives)
    return min(numbers, default=0)
