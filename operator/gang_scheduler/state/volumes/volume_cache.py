"""Claims and volumes as last seen, with assumed bindings counted at once.

Plain synchronous code, a part of the cache.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from gang_scheduler.api.kinds import GVR, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from gang_scheduler.decode.volumes import Claim, PersistentVolume, StorageClass, VolumeObject
from gang_scheduler.model.causes.gangs import UnboundClaim
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.volumes import Storage, Volumes
from gang_scheduler.state.changes import MovedPods
from gang_scheduler.state.volumes import snapshot
from gang_scheduler.state.volumes.claims import (
    AssumeCache,
    ClaimStep,
    Progress,
    Stage,
    Target,
    claim_target,
    progress_of,
    target_of,
    volume_target,
)
from gang_scheduler.state.volumes.snapshot import Known, VolumeUsage
from gang_scheduler.state.volumes.store import VolumeStores

# The pods that use each claim.


class ClaimUsers:
    """The pods by the claims that they name. A pod that has ended uses none.

    `keys` returns the keys of the claims of a pod.
    """

    def __init__(self, keys: Callable[[Pod], Iterable[str]] = snapshot.claim_keys) -> None:
        self._keys_of = keys
        self._pods: dict[str, Pod] = {}
        self._users: dict[str, set[str]] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __bool__(self) -> bool:
        return bool(self._pods)

    @property
    def uids(self) -> Collection[str]:
        """The uids of all pods."""
        return self._pods.keys()

    @property
    def claims(self) -> Collection[str]:
        """The keys of all claims that any pod uses, existing or not."""
        return self._users.keys()

    def of(self, claim: str) -> Collection[str]:
        """Return the uids of the pods that use a claim."""
        return self._users.get(claim, ())

    def is_shared(self, claim: str) -> bool:
        """Return whether several pods use a claim."""
        return len(self.of(claim)) > 1

    def add(self, pod: Pod) -> set[str]:
        """Note a pod; return the uids of other pods that now share a claim, or stop sharing one."""
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        return set(self._move(pod.uid, self._keys(before), self._keys(pod)))

    def remove(self, uid: str) -> set[str]:
        """Forget a pod; return the uids of other pods that now have a claim exclusively."""
        return set(self._move(uid, self._keys(self._pods.pop(uid, None)), frozenset()))

    def _keys(self, pod: Pod | None) -> frozenset[str]:
        return frozenset() if pod is None or pod.terminal else frozenset(self._keys_of(pod))

    def _move(self, uid: str, left: frozenset[str], taken: frozenset[str]) -> Iterator[str]:
        for key in taken - left:
            users = self._users.setdefault(key, set())
            yield from users if len(users) == 1 else ()
            users.add(uid)
        for key in left - taken:
            users = self._users[key]
            users.discard(uid)
            yield from users if len(users) == 1 else ()
            if not users:
                del self._users[key]


class VolumeCache:
    """Everything known of volumes; `nodes` returns the present nodes.

    `waits` collects assumed pods whose claims may have been bound.
    """

    def __init__(self, nodes: Callable[[], NodeTable], waits: Mapping[str, MovedPods]) -> None:
        self._nodes = nodes
        self._waits = waits
        self._stores = VolumeStores()
        self._assumed = AssumeCache()
        self._usage = VolumeUsage()
        self._users = ClaimUsers()
        self._stale: set[str] = set()
        self._snapshot: Volumes | None = None
        self._known = Known(
            claim=self._stores.claims.get,
            volume=self._stores.volumes.get,
            storage_class=self._stores.classes.get,
            shared=self._users.is_shared,
            same_handle=lambda csi: len(self._stores.of_handle(csi)) > 1,
            counted=self._stores.counted,
            volume_of=self._volume_of,
            selected=lambda claim: claim.node or self._assumed.node_of(claim.key),
        )

    # For the cache.

    @property
    def in_use(self) -> bool:
        """Whether any pod names volumes."""
        return bool(self._users)

    def uids(self, gvr: GVR) -> Collection[str]:
        """Return the uids of all objects of a kind."""
        return self._stores.uids(gvr)

    def upsert(self, gvr: GVR, found: VolumeObject) -> bool:
        """Store an object; return whether that can matter to any pod."""
        counted = self._stores.counted_drivers
        return self._changed(gvr, self._stores.upsert(gvr, found), found, counted)

    def delete(self, gvr: GVR, uid: str) -> bool:
        """Forget an object; return whether that can matter to any pod."""
        counted = self._stores.counted_drivers
        return self._changed(gvr, self._stores.delete(gvr, uid), None, counted)

    def delete_pod(self, uid: str) -> None:
        """Forget a pod. If it names no volumes, this costs one look-up."""
        if uid in self._users:
            self._assumed.forget(uid)
            self._usage.remove(uid)
            self._stale |= self._users.remove(uid)
            self._stale.discard(uid)
            self._snapshot = None

    def storage_of(self, pod: Pod) -> Storage | None:
        """Note a pod that uses volumes, and return its storage needs; None if it has none."""
        self._stale |= self._users.add(pod)
        self._stale.discard(pod.uid)
        found = snapshot.storage_of(pod, self._known)
        node = "" if pod.terminal else pod.node
        handles = snapshot.handles_of(pod, self._known) if node and found is not None else ()
        self._usage.add(pod.uid, node, found, [(node, *each) for each in handles])
        self._snapshot = None
        return found

    def take_stale(self) -> Collection[str]:
        """Return the uids of pods whose storage may have changed since it was computed."""
        stale, self._stale = self._stale, set()
        return stale

    def snapshot(self) -> Volumes:
        """Return the volumes of a snapshot; the same object while nothing changes."""
        if self._snapshot is None:
            self._snapshot = snapshot.snapshot_of(self._stores, self._assumed, self._usage)
        return self._snapshot

    # Claims that must be written.

    def awaited(self, pod: Pod) -> tuple[UnboundClaim, ...]:
        """Return the claims of a waiting pod that have a selected node, but no volume yet."""
        needs = snapshot.needs_of(pod, self._known)
        return tuple(UnboundClaim(c.key, c.need.storage_class) for _, c in needs if c.node)

    def selected_node(self, pod: Pod) -> str:
        """Return the node that is selected for the claims of a waiting pod, "" for none."""
        nodes = (claim.node for _, claim in snapshot.needs_of(pod, self._known))
        return next(filter(None, nodes), "")

    # For the binder.

    def assume(self, pod: Pod, node: str, volumes: tuple[str, ...]) -> None:
        """Assume volumes for the claims of a pod that goes to a node.

        `volumes` come from `Bind.volumes`: a name for each of `pod.pod_class.storage.needs`, "" for
        a volume that will be created.
        """
        claims = [claim for _, claim in snapshot.needs_of(pod, self._known)]
        names = (*volumes, *[""] * len(claims))
        steps = [self._step(each, node, name) for each, name in zip(claims, names, strict=False)]
        self._assumed.assume(pod.uid, steps)
        self._assumption_changed(steps)

    def forget(self, uid: str) -> None:
        """Forget assumptions for a pod that are not written.

        Written decisions stay: pods that need the claim are then tried only on its node.
        """
        self._assumption_changed(self._assumed.forget(uid))

    def steps(self, uid: str) -> tuple[ClaimStep, ...]:
        """Return the steps that must still be written before an assumed pod can be bound.

        Empty for a pod whose claims are bound, or wait only for controllers.
        """
        return tuple(each for each in self._assumed.steps(uid) if not self._is_done(each))

    def written(self, step: ClaimStep, version: int) -> None:
        """Note that a step was written: earlier versions of the object are outdated."""
        self._assumed.written(step, version)
        found: Claim | PersistentVolume | None = self._stores.claims.get(step.claim.key)
        if step.volume is not None:
            found = self._stores.volumes.get(step.volume.name)
        if found is not None:
            self._assumed.shown(target_of(step), found.version)

    def progress(self, uid: str) -> Progress:
        """Return whether all claims of an assumed pod are bound, wait, or have failed."""
        waiting: tuple[UnboundClaim, ...] = ()
        for step in self._assumed.steps(uid):
            found = progress_of(step, self._stores, self._assumed, self._nodes())
            if found.stage is Stage.FAILED:
                return found
            waiting += found.waiting
        return Progress(Stage.WAITING if waiting else Stage.BOUND, waiting=waiting)

    def _assumption_changed(self, steps: Iterable[ClaimStep]) -> None:
        """Note that the assumed values of these steps have changed."""
        for step in steps:
            self._stale.update(self._users.of(step.claim.key))
        self._snapshot = None

    def _step(self, claim: Claim, node: str, name: str) -> ClaimStep:
        volume = self._stores.volumes.get(name) if name else None
        return ClaimStep(claim.ref, node, volume.ref if volume is not None else None)

    def _is_done(self, step: ClaimStep) -> bool:
        claim = self._stores.claims.get(step.claim.key)
        if self._assumed.is_written(step) or (claim is not None and bool(claim.volume)):
            return True
        if step.volume is None:
            return claim is not None and claim.node == step.node
        volume = self._stores.volumes.get(step.volume.name)
        return volume is not None and volume.claim == step.claim

    def _volume_of(self, claim: Claim) -> str:
        """Return the volume that is reserved or assumed for a claim; "" for none."""
        for each in self._stores.for_claim(claim.key):
            of_class = each.volume.storage_class == claim.need.storage_class
            usable = of_class and each.volume.roomy(claim.need) and not each.deleting
            if usable and each.belongs_to(claim):
                return each.key
        assumed = self._stores.volumes.get(self._assumed.volume_of(claim.key))
        return assumed.key if assumed is not None and assumed.claim is None else ""

    # Consequences of a change.

    def _changed(
        self,
        gvr: GVR,
        before: VolumeObject | None,
        after: VolumeObject | None,
        counted: frozenset[str],
    ) -> bool:
        """Apply the consequences of a change; return whether it can matter to any pod."""
        self._snapshot = None
        for target in _targets(gvr, before, after):
            if isinstance(after, Claim | PersistentVolume):
                self._assumed.shown(target, after.version)
            if after is None or (before is not None and before.uid != after.uid):
                self._assumed.gone(target)
            for uid in self._assumed.pods(target):
                if uid in self._waits:
                    self._waits[uid].put(uid)
        if before == after:
            return False
        for each in (before, after):
            self._stale.update(self._concerned(each))
        if counted != self._stores.counted_drivers:
            self._stale.update(self._users.uids)
        return bool(self._users)

    def _concerned(self, found: VolumeObject | None) -> Iterator[str]:
        """Yield the uids of the pods whose storage depends on an object."""
        if isinstance(found, Claim):
            yield from self._users.of(found.key)
        elif isinstance(found, PersistentVolume):
            for each in (found, *self._stores.of_handle(found.csi)):
                yield from self._users.of(each.claim.key) if each.claim is not None else ()
        elif isinstance(found, StorageClass):
            for key in self._users.claims:
                claim = self._stores.claims.get(key)
                if claim is not None and claim.need.storage_class == found.key:
                    yield from self._users.of(key)


def _targets(gvr: GVR, before: VolumeObject | None, after: VolumeObject | None) -> set[Target]:
    """Return the targets of an object about which something could be assumed."""
    keys = {each.key for each in (before, after) if each is not None}
    if gvr == PERSISTENT_VOLUME_CLAIMS:
        return {claim_target(key) for key in keys}
    return {volume_target(key) for key in keys} if gvr == PERSISTENT_VOLUMES else set()
