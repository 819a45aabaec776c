"""Claims, classes and slices as last seen, with the allocations of our plans counted at once.

Plain synchronous code, a part of the cache.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from gang_scheduler.api.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    GVR,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from gang_scheduler.decode import events
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.api_words import GatherComputeDomains
from gang_scheduler.model.causes.devices import DevicesAwaited
from gang_scheduler.model.changed_mapping import FollowedDict
from gang_scheduler.model.device_needs import (
    NO_DEVICES,
    ClaimAllocation,
    DeviceNeeds,
    Devices,
    Holders,
    PodClaim,
)
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    ClaimTemplate,
    Consumer,
    DeviceClass,
    DeviceId,
    Slice,
    TaintRule,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import NATIVE, GangKey
from gang_scheduler.model.resources import Requests
from gang_scheduler.state.changes import Change
from gang_scheduler.state.devices import attaching, charges, needs
from gang_scheduler.state.devices.assumed import AssumedAllocations, Withdrawals
from gang_scheduler.state.devices.foreign_claims import ForeignClaims
from gang_scheduler.state.devices.needs import Known
from gang_scheduler.state.volumes.store import Store
from gang_scheduler.state.volumes.volume_cache import ClaimUsers

DeviceObject = Claim | ClaimTemplate | DeviceClass | Slice | TaintRule


NO_USER: Final = ""
"""Stands for the uid of a user if a claim is reserved for no pod."""


class Unfinished(NamedTuple):
    """A claim, the uid of an object for which it is reserved in vain, and the pods of that user.

    If it is reserved for nothing, these are the pods that name it.
    """

    claim: Claim
    user: str
    pods: tuple[Pod, ...]


class DeviceCache:
    """Everything known of devices.

    `enabled` and `gather_compute_domains` are settings. Devices are known only if their kinds are
    served, too: otherwise pods with claims are refused. `asked` is called with the resources that
    pods ask for and that stand for devices. `spec_of` returns the declaration of a gang, and
    `of_devices` has the amounts that quotas count for devices.
    """

    def __init__(
        self,
        *,
        enabled: bool,
        gather_compute_domains: GatherComputeDomains = GatherComputeDomains.OFF,
        asked: Callable[[frozenset[str]], None] = lambda _: None,
        spec_of: Callable[[GangKey], GangSpec | None] = lambda _: None,
        of_devices: charges.OfDevices | None = None,
    ) -> None:
        self.enabled = enabled
        self._gather = gather_compute_domains
        self._spec_of = spec_of
        self._tell_asked = asked
        self._offers: Mapping[str, str] = {}
        self._asking: dict[str, frozenset[str]] = {}
        self._resources: set[str] = set()
        self._served = False
        self.claims: Store[Claim] = Store()
        self.classes: Store[DeviceClass] = Store()
        self.templates: Store[ClaimTemplate] = Store()
        self.slices: Store[Slice] = Store()
        self.taint_rules: Store[TaintRule] = Store()
        self._stores: Mapping[GVR, Store[Any]] = {
            RESOURCE_CLAIMS: self.claims,
            DEVICE_CLASSES: self.classes,
            RESOURCE_CLAIM_TEMPLATES: self.templates,
            RESOURCE_SLICES: self.slices,
            **dict.fromkeys(DEVICE_TAINT_RULES, self.taint_rules),
        }
        self._assumed = AssumedAllocations()
        self._withdrawals = Withdrawals()
        self.foreign_claims = ForeignClaims()
        self._avoided: dict[GangKey, tuple[DeviceId, ...]] = {}
        self._users = ClaimUsers(needs.keys_of)
        self._users_of_templates = ClaimUsers(needs.template_keys)
        self._first_users = charges.FirstUsers(self._users.of)
        self._amounts = charges.Amounts(of_devices, self.snapshot)
        self._may_differ = False
        self._pods: dict[str, Pod] = {}
        self._stale: set[str] = set()
        self._gone: set[str] = set()
        self._taken: FollowedDict[Claim] = FollowedDict()
        self._holders: FollowedDict[Holders] = FollowedDict()
        self._waiting: FollowedDict[Claim] = FollowedDict()
        self._unfinished: dict[str, None] = {}
        self._ending: set[str] = set()
        self._listed: tuple[Slice, ...] | None = None
        self._rules: tuple[TaintRule, ...] | None = None
        self._by_name: dict[str, DeviceClass] | None = None
        self._snapshot: Devices | None = None
        self._known = Known(
            claim=self.claims.get,
            device_class=self.classes.get,
            template=self.templates.get,
            allocation=self.allocation_of,
            users=lambda claim: [self._pods[uid] for uid in self._users.of(claim)],
            is_shared=self._users.is_shared,
            first=self._first_users.of,
            is_of_group=self.is_of_group,
            offered=lambda: self._offered,
            avoided=lambda gang: self._avoided.get(gang, ()),
            is_withdrawn=self._withdrawals.__contains__,
            amount=self._amounts.of,
            number_of_all=self._amounts.number_of_all,
        )

    # For the cache.

    @property
    def are_known(self) -> bool:
        """Whether pods with claims can be scheduled."""
        return self.enabled and self._served

    @property
    def in_use(self) -> bool:
        """Whether any pod has claims, or asks for extended resources that stand for devices."""
        return bool(self._users)

    @property
    def are_counted(self) -> bool:
        """Whether nodes offer devices as extended resources that pods ask for."""
        return any(each in self._offered for each in self._resources)

    @property
    def _offered(self) -> Mapping[str, str]:
        return self._offers if self.are_known else _NONE

    def offer(self, device_classes: Mapping[str, str]) -> None:
        """Note which DeviceClass each resource stands for."""
        changed = {
            name
            for name in {*device_classes, *self._offers}
            if device_classes.get(name) != self._offers.get(name)
        }
        self._offers = device_classes
        self._stale.update(uid for uid, asked in self._asking.items() if asked & changed)
        self._count_asked()

    def serve(self, *, served: bool) -> bool:
        """Note whether the API server has the kinds; return whether that is news for pods."""
        if served == self._served:
            return False
        self._served = served
        self._stale.update(self._users.uids, self._asking)
        self._count_asked()
        return self.enabled and bool(self._users)

    def uids(self, gvr: GVR) -> Collection[str]:
        """Return the uids of all objects of a kind."""
        return self._stores[gvr].uids

    def upsert(self, gvr: GVR, found: DeviceObject) -> Change:
        """Take in an object; return how the change affects gangs."""
        return self._changed(self._stores[gvr].upsert(found), found)

    def delete(self, gvr: GVR, uid: str) -> Change:
        """Forget an object; return how the change affects gangs."""
        return self._changed(self._stores[gvr].delete(uid), None)

    def needs_of(self, pod: Pod) -> DeviceNeeds | None:
        """Note a pod with claims or extended resources, and return its needs.

        None if devices are not known, and for a pod on a node: its claims have its devices. Also
        None for a pod without claims whose resources stand for no devices.
        """
        if pod.extended:
            self._note_asking(pod)
        asks = bool(pod.claims) or any(each.resource in self._offered for each in pod.extended)
        if not asks and pod.uid not in self._pods:
            return None
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        self._gone.discard(pod.uid)
        if pod.node and not pod.assumed:
            self._assumed.forget(pod.uid)
        self._stale |= self._users.add(pod) | self._users_of_templates.add(pod)
        if before is None or _differ(before, pod):
            self._charge_again(before, pod)
        self._stale.discard(pod.uid)
        if before is None or _differ(before, pod):
            self._settle(needs.keys_of(pod))
        if not self.are_known or not asks or pod.node:
            return None
        return needs.needs_of(pod, self._known)

    def _note_asking(self, pod: Pod) -> None:
        if pod.uid not in self._asking:
            asked = self._asking[pod.uid] = frozenset(each.resource for each in pod.extended)
            if not asked <= self._resources:
                self._resources |= asked
                self._count_asked()

    def _count_asked(self) -> None:
        self._tell_asked(frozenset(self._resources.intersection(self._offered)))

    def charged_for(self, pod: Pod) -> Requests:
        """Return the amounts that queues charge for the claims of a pod, sorted by name."""
        return charges.charged_for(pod, self._known) if self.are_known else ()

    def _charge_again(self, before: Pod | None, pod: Pod | None) -> None:
        """Find again which pods are charged for the claims of a pod."""
        left = () if before is None else needs.charged_keys(before)
        for key in left:
            self._stale.update(self._first_users.look_again(key))
        if pod is not None:
            for key in needs.charged_keys(pod):
                if key not in left:
                    self._stale.update(self._first_users.add(key, pod))

    def needs_of_another(self, pod: Pod) -> DeviceNeeds | None:
        """Return the needs of another pod like this one, which does not exist yet."""
        if not self.are_known or not (pod.claims or pod.extended):
            return None
        return needs.needs_of_another(pod, self._known)

    def delete_pod(self, uid: str) -> None:
        """Forget a pod. If it has nothing to do with devices, this costs two look-ups."""
        self._asking.pop(uid, None)
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        self._stale |= self._users.remove(uid) | self._users_of_templates.remove(uid)
        self._charge_again(pod, None)
        self._stale.discard(uid)
        self._assumed.forget(uid)
        # Its claims name it for a moment longer.
        self._gone.update(uid for key in needs.keys_of(pod) if self._is_named(uid, key))
        self._settle(needs.keys_of(pod))

    def take_stale(self) -> Collection[str]:
        """Return the uids of pods whose needs may have changed since they were computed."""
        if self._may_differ:
            self._may_differ = False
            if self._amounts.differ():
                self._stale.update(self._users.uids)
        stale, self._stale = self._stale, set()
        return stale

    def snapshot(self) -> Devices:
        """Return the devices of a snapshot; the same object while nothing changes."""
        if not self.are_known:
            return NO_DEVICES
        if self._snapshot is None:
            if self._listed is None:
                self._listed = tuple(sorted(self.slices, key=lambda each: each.name))
            if self._by_name is None:
                self._by_name = {each.name: each for each in self.classes}
            if self._rules is None:
                self._rules = tuple(sorted(self.taint_rules, key=lambda each: each.name))
            self._snapshot = Devices(
                classes=self._by_name,
                slices=self._listed,
                taint_rules=self._rules,
                claims=self._taken.view(),
                holders=self._holders.view(),
                ending=tuple(sorted(self._ending)),
                waiting=self._waiting.view(),
                gather_compute_domains=self._gather,
            )
        return self._snapshot

    # For the writer of claims.

    def assume(self, uid: str, claims: Iterable[ClaimAllocation]) -> None:
        """Assume the allocations of the claims of a pod that is being bound (`Bind.claims`)."""
        claims = tuple(claims)
        changed = self._assumed.assume(uid, claims)
        self._settle({*changed, *(each.claim for each in claims)})

    def forget(self, uid: str) -> None:
        """Forget assumptions for a pod that are not written.

        A written assumption stays until the watch shows the claim without its allocation.
        """
        held = [each.claim for each in self._assumed.of(uid)]
        self._assumed.forget(uid)
        self._settle(held)

    def written(self, claim: str, version: int, allocation: Allocation | None) -> None:
        """Note the allocation written to a claim: earlier versions of the claim are outdated."""
        self._assumed.written(claim, version, allocation)
        known = self.claims.get(claim)
        if known is not None:
            self._assumed.shown(claim, _version(known))
        self._settle([claim])

    def is_being_withdrawn(self, claim: str) -> bool:
        """Return whether a claim is being taken back, or was and the watch does not show that yet.

        Its allocation must not be used meanwhile.
        """
        return claim in self._withdrawals

    def begin_withdrawal(self, claim: str) -> None:
        """Let no plan use the allocation of a claim until `end_withdrawal`."""
        self._withdrawals.begin(claim)
        self._stale.update(self._users.of(claim))

    def withdrawn(self, claim: str, version: int) -> None:
        """Note that the API server has taken back a claim in this version, which the watch shows.

        Call it before `end_withdrawal`.
        """
        self._withdrawals.written(claim, version)

    def end_withdrawal(self, claim: str) -> None:
        """Let plans use a claim again, as soon as the watch shows the last write to it."""
        self._withdrawals.end(claim)
        known = self.claims.get(claim)
        self._withdrawals.shown(claim, None if known is None else _version(known))
        self._stale.update(self._users.of(claim))

    def avoid(self, gangs: Collection[GangKey], devices: Iterable[DeviceId]) -> None:
        """Let gangs use no devices that failed them, in addition to those of earlier attempts."""
        for gang in gangs:
            found = {*self._avoided.get(gang, ()), *devices}
            self._avoided[gang] = tuple(sorted(found))
        self._stale.update(uid for uid, pod in self._pods.items() if pod.gang in gangs)

    def use_again(self, gangs: Collection[GangKey]) -> None:
        """Let gangs use the devices again that `avoid` forbade."""
        for gang in gangs:
            self._avoided.pop(gang, None)
        self._stale.update(uid for uid, pod in self._pods.items() if pod.gang in gangs)

    def allocation_of(self, claim: Claim) -> Allocation | None:
        """Return the allocation of a claim, written or assumed; None for an unallocated claim."""
        return claim.allocation or self._assumed.allocation(claim.key)

    def node_of_claims(self, pod: Pod) -> str:
        """Return the only node for the allocated claims of a pod; "" if there are several."""
        for key in needs.keys_of(pod):
            claim = self.claims.get(key)
            if claim is not None and claim.allocation is not None:
                node = attaching.only_node(claim.allocation)
                if node:
                    return node
        return ""

    def awaited(self, pods: Iterable[Pod]) -> DevicesAwaited | None:
        """Return the devices of pods that are still to be attached; None if there are none."""
        return self.awaited_of(key for pod in pods for key in needs.keys_of(pod))

    def awaited_of(self, claims: Iterable[str]) -> DevicesAwaited | None:
        """Return the devices of claims that are still to be attached; None if there are none."""
        found = (self.allocated(key) for key in dict.fromkeys(claims))
        return attaching.awaited([each for each in found if each is not None])

    def allocated(self, key: str) -> tuple[Claim, Allocation] | None:
        """Return a claim with its allocation, written or assumed; None without one."""
        claim = self.claims.get(key) or self._to_be_made(key)
        allocation = None if claim is None else self.allocation_of(claim)
        return None if claim is None or allocation is None else (claim, allocation)

    def is_shown(self, key: str) -> bool:
        """Return whether the watch shows all our writes to a claim."""
        return self._assumed.allocation(key) is None

    def user_of(self, pod: Pod, of: ClaimAllocation) -> Consumer:
        """Return the object for which a claim of a pod is reserved: the pod, or its PodGroup."""
        named = () if of.extended else (each for each in pod.claims if each.entry == of.entry)
        groups = (self._group_of(pod, each) for each in named)
        group = next((each for each in groups if each is not None), None)
        return group or Consumer.of_pod(pod.name, pod.uid)

    def is_of_group(self, pod: Pod, entry: PodClaim) -> bool:
        """Return whether an entry is the claim of a native PodGroup, or may be one."""
        is_native = pod.gang.source == NATIVE.name
        return is_native and (
            self._spec_of(pod.gang) is None or self._group_of(pod, entry) is not None
        )

    def _group_of(self, pod: Pod, entry: PodClaim) -> Consumer | None:
        """Return the native PodGroup whose claim an entry of a pod is; None for the pod's own."""
        spec = self._spec_of(pod.gang)
        if spec is None or not any(_is_same(entry, each) for each in spec.claims):
            return None
        return Consumer.of_pod_group(spec.key.name, spec.uid)

    def unfinished(self) -> list[Unfinished]:
        """Return the claims left by unfinished attempts to bind pods.

        Only a scheduler reserves a claim for a pod without a node, or makes a claim for its
        extended resources.
        """
        claims = (self.claims.get(key) for key in self._unfinished)
        return [each for claim in claims if claim is not None for each in self._unbound(claim)]

    def users_left(self, key: str) -> Collection[str]:
        """Return the uids for which a claim is reserved, but no pod is bound or being bound."""
        claim = self.claims.get(key)
        return {each.user for each in self._unbound(claim)} if claim is not None else ()

    def held_by_none(self) -> list[Claim]:
        """Return the claims with our allocation that are reserved only for pods not known here."""
        allocated = (self.claims.get(key) for key, held in self._holders.items() if not held.pods)
        return [
            claim
            for claim in allocated
            if claim is not None
            and claim.is_marked
            and claim.reserved_for
            and all(each.is_pod and each.uid not in self._pods for each in claim.reserved_for)
        ]

    # Consequences of a change.

    def _changed(self, before: DeviceObject | None, after: DeviceObject | None) -> Change:
        """Take in the consequences of a change; return how it affects gangs."""
        if before == after:
            return Change.NOTHING
        for each in (before, after):
            if isinstance(each, Claim):
                self._stale.update(self._users.of(each.key))
            elif isinstance(each, ClaimTemplate):
                self._stale.update(self._users_of_templates.of(each.key))
            elif isinstance(each, DeviceClass):
                self._stale.update(self._users.uids)
                self._by_name = None
        if isinstance(before or after, Slice):
            self._listed, self._may_differ = None, True
        if isinstance(before or after, TaintRule):
            self._rules = None
        self._snapshot = None
        claims = [each for each in (before, after) if isinstance(each, Claim)]
        if claims:
            self.foreign_claims.changed(*(_as_claim(each) for each in (before, after)))
            self._claim_changed(claims, is_gone=after is None)
            keeps = after is not None and claims[-1].allocation is not None
            if claims[0].allocation is not None and not keeps:
                return Change.ROOM_FREED
            # A claim may come after the pod that was waiting for it.
            waits = any(not self._pods[uid].node for uid in self._users.of(claims[-1].key))
            return Change.GANGS_TOUCHED if waits else Change.NOTHING
        return Change.ROOM_FREED if self.are_known and self.in_use else Change.NOTHING

    def _claim_changed(self, states: list[Claim], *, is_gone: bool) -> None:
        """Take in a claim by its states before and after. A new claim has only one."""
        first, last = states[0], states[-1]
        if is_gone or first.uid != last.uid:
            # The claim for extended resources that we make next may have the same name.
            self._assumed.gone(last.key, _version(last) if is_gone else None)
        else:
            self._assumed.shown(last.key, _version(last))
        self._withdrawals.shown(last.key, None if is_gone else _version(last))
        named = frozenset[Consumer]() if is_gone else frozenset(last.reserved_for)
        self._gone.difference_update(each.uid for each in first.reserved_for if each not in named)
        self._settle([last.key])

    def _settle(self, claims: Iterable[str]) -> None:
        """Count the devices of claims as taken or free, by written and assumed allocations."""
        for key in claims:
            claim = self.claims.get(key) or self._to_be_made(key)
            allocation = None if claim is None else self.allocation_of(claim)
            taken: Claim | None = None
            held: Holders | None = None
            self._unfinished.pop(key, None)
            self._ending.discard(key)
            waits = claim is not None and allocation is None and bool(self._users.of(key))
            if claim is not None and allocation is not None:
                is_shown = claim.allocation is not None
                taken = claim if is_shown else replace(claim, allocation=allocation)
                held = self._holders_of(claim)
                if claim.reserved_for and not (held.pods or held.others):
                    self._ending.add(key)
            if claim is not None and self._is_left(claim):
                self._unfinished[key] = None
            before = self._taken.put(key, taken), self._holders.put(key, held)
            waiting = self._waiting.put(key, claim if waits else None)
            if (before[0] is None) != (taken is None):
                self._stale.update(self._users.of(key))
            if (*before, waiting) != (taken, held, claim if waits else None):
                self._snapshot = None

    def _to_be_made(self, key: str) -> Claim | None:
        """Return a claim for extended resources that a plan of ours makes."""
        if not self._assumed.is_made(key):
            return None
        namespace, _, name = key.partition("/")
        return Claim(namespace, name)

    def _holders_of(self, claim: Claim) -> Holders:
        pods, others = set(self._assumed.pods(claim.key)), False
        for each in claim.reserved_for:
            known = self._pods.get(each.uid)
            if known is not None and each.is_pod:
                pods.update(() if known.terminal else (each.uid,))
            elif each.uid not in self._gone:
                others = True
        return Holders(frozenset(pods), others)

    def _unbound(self, claim: Claim) -> Iterator[Unfinished]:
        """Yield the users for which a claim is reserved and that are neither bound nor being bound.

        A claim for extended resources is made only for a pod that is to be bound. A PodGroup is
        not bound as long as none of its pods is. An allocated claim that is reserved for nothing
        keeps the pods that name it on its node: kube-scheduler leaves such claims behind.
        """
        owner = "" if claim.owner is None else claim.owner.uid
        special = self._pods.get(owner)
        is_special = special is not None and claim.key == needs.special_key(special)
        users: dict[str, Iterable[Pod | None]] = {owner: [special]} if is_special else {}
        for each in () if is_special else claim.reserved_for:
            users[each.uid] = [self._pods.get(each.uid)]
            if each.is_pod_group:
                found = (self._pods[uid] for uid in self._users.of(claim.key))
                users[each.uid] = (it for it in found if _is_in_group(it, each))
        if claim.allocation is not None and not (is_special or claim.reserved_for):
            users[NO_USER] = (self._pods[uid] for uid in self._users.of(claim.key))
        for user, known in users.items():
            pods = []
            for pod in known:
                if pod is not None:
                    pods.append(pod)
                    # Most claims are in use: then one look is enough, however many pods there are.
                    if pod.node or self._assumed.is_assumed(pod.uid):
                        break
            else:
                if pods:
                    yield Unfinished(claim, user, tuple(pods))

    def _is_left(self, claim: Claim) -> bool:
        """Return whether a claim is left from an attempt that did not end."""
        unbound = next(self._unbound(claim), None)
        if unbound is None:
            return False
        return claim.allocation is not None or claim.key == needs.special_key(unbound.pods[0])

    def _is_named(self, uid: str, key: str) -> bool:
        claim = self.claims.get(key)
        return claim is not None and any(each.uid == uid for each in claim.reserved_for)


_NONE: Final[Mapping[str, str]] = {}


def _as_claim(found: DeviceObject | None) -> Claim | None:
    return found if isinstance(found, Claim) else None


def _differ(before: Pod, after: Pod) -> bool:
    """Return whether a pod uses its claims in another way than before."""
    return (before.node, before.phase, before.claims) != (after.node, after.phase, after.claims)


def _is_same(entry: PodClaim, of_group: PodClaim) -> bool:
    """Return whether an entry of a pod is a claim of its group: by its name and its reference."""
    if entry.entry != of_group.entry or entry.template != of_group.template:
        return False
    return bool(entry.template) or entry.claim == of_group.claim


def _is_in_group(pod: Pod, group: Consumer) -> bool:
    return (pod.gang.source, pod.gang.name) == (NATIVE.name, group.name)


def _version(claim: Claim) -> int:
    return events.number_of(claim.resource_version)
