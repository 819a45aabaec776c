"""Claims on the way to being bound: assumed decisions, and the progress of each claim."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.decode.volumes import Claim, PersistentVolume
from gang_scheduler.model.causes.gangs import ClaimFailed, ClaimFault, UnboundClaim
from gang_scheduler.model.nodes import NodeTable, terms
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from gang_scheduler.state.volumes.store import VolumeStores

# Steps for the claims of a pod before the pod can be bound to its node.


@dataclass(frozen=True, slots=True)
class ClaimStep:
    """A claim that must be bound before its pod.

    A `volume` must be reserved for the claim. Without one, the claim must select the `node`, and a
    volume is created there.
    """

    claim: ClaimRef
    node: str
    volume: VolumeRef | None = None


class Stage(enum.StrEnum):
    """The state of the claims of a pod."""

    BOUND = "bound"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the claims of a pod; `problem` is why they cannot be bound.

    `waiting` are the claims that are not bound yet.
    """

    stage: Stage
    problem: ClaimFailed | None = None
    waiting: tuple[UnboundClaim, ...] = ()


# Decisions on claims and volumes, assumed until the API server shows them.


class Target(NamedTuple):
    """The object that a step writes: a volume by its name, or a claim by its key."""

    kind: str
    key: str


@dataclass(slots=True, eq=False)
class _Assumed:
    """An assumed value: for a volume, the key of its claim; for a claim, the name of its node.

    `holders` are the uids of the pods that need it. `version` is the resourceVersion of our write,
    0 before.
    """

    value: str
    holders: set[str] = field(default_factory=set)
    version: int = 0


class AssumeCache:
    """The assumed values, and the steps of each pod that was assumed on a node."""

    def __init__(self) -> None:
        self._assumed: dict[Target, _Assumed] = {}
        self._steps: dict[str, tuple[ClaimStep, ...]] = {}
        self._pods: dict[Target, set[str]] = {}
        self._volumes: dict[str, str] = {}

    def assume(self, uid: str, steps: Iterable[ClaimStep]) -> None:
        """Assume the values of a pod's steps."""
        self.forget(uid)
        self._steps[uid] = tuple(steps)
        for step in self._steps[uid]:
            self._assumed_for(step).holders.add(uid)
            for target in _targets(step):
                self._pods.setdefault(target, set()).add(uid)

    def forget(self, uid: str) -> tuple[ClaimStep, ...]:
        """Forget values that are assumed only for this pod and not written; return its steps."""
        steps = self._steps.pop(uid, ())
        for step in steps:
            self._leave(target_of(step), uid)
            for target in _targets(step):
                self._pods.get(target, set()).discard(uid)
                if not self._pods.get(target):
                    self._pods.pop(target, None)
        return steps

    def steps(self, uid: str) -> tuple[ClaimStep, ...]:
        """Return all steps of a pod."""
        return self._steps.get(uid, ())

    def pods(self, target: Target) -> frozenset[str]:
        """Return the uids of the pods that have a step for this target."""
        return frozenset(self._pods.get(target, ()))

    def written(self, step: ClaimStep, version: int) -> None:
        """Note that a step was written, whether or not a pod still needs it."""
        self._assumed_for(step).version = version

    def is_written(self, step: ClaimStep) -> bool:
        """Return whether a step was written, but the watch has not shown it yet."""
        assumed = self._assumed.get(target_of(step))
        return assumed is not None and assumed.version > 0

    def stands(self, step: ClaimStep) -> bool:
        """Return whether a step is assumed, but the API server has not shown it yet."""
        return target_of(step) in self._assumed

    def shown(self, target: Target, version: int) -> None:
        """Note the version that the API server shows: from our write on, nothing is assumed."""
        assumed = self._assumed.get(target)
        if assumed is not None and 0 < assumed.version <= version:
            self.gone(target)

    def gone(self, target: Target) -> None:
        """Note that nothing is assumed about an object any more."""
        assumed = self._assumed.pop(target, None)
        if assumed is not None and self._volumes.get(assumed.value) == target.key:
            del self._volumes[assumed.value]

    def claim_of(self, volume: str) -> str:
        """Return the key of the claim that a volume is assumed for; "" for none."""
        assumed = self._assumed.get(volume_target(volume))
        return assumed.value if assumed is not None else ""

    def node_of(self, claim: str) -> str:
        """Return the node for which a claim's volume is to be created; "" for none."""
        assumed = self._assumed.get(claim_target(claim))
        return assumed.value if assumed is not None else ""

    def volume_of(self, claim: str) -> str:
        """Return the volume that is assumed for a claim; "" for none."""
        return self._volumes.get(claim, "")

    def _assumed_for(self, step: ClaimStep) -> _Assumed:
        target = target_of(step)
        if target not in self._assumed:
            self._assumed[target] = _Assumed(_value(step))
            if step.volume is not None:
                self._volumes[step.claim.key] = step.volume.name
        return self._assumed[target]

    def _leave(self, target: Target, uid: str) -> None:
        assumed = self._assumed.get(target)
        if assumed is not None:
            assumed.holders.discard(uid)
            if not assumed.holders and not assumed.version:
                self.gone(target)


def target_of(step: ClaimStep) -> Target:
    """Return the target that a step writes."""
    if step.volume is not None:
        return volume_target(step.volume.name)
    return claim_target(step.claim.key)


def volume_target(name: str) -> Target:
    """Return the target of a volume."""
    return Target("volume", name)


def claim_target(key: str) -> Target:
    """Return the target of a claim."""
    return Target("claim", key)


def _targets(step: ClaimStep) -> set[Target]:
    return {claim_target(step.claim.key), target_of(step)}


def _value(step: ClaimStep) -> str:
    return step.claim.key if step.volume is not None else step.node


# Whether one claim of a pod is bound, waits, or cannot be bound. The rules are those of
# kube-scheduler's checkBindings.

BOUND = Progress(Stage.BOUND)


def progress_of(
    step: ClaimStep, stores: VolumeStores, assumed: AssumeCache, nodes: NodeTable
) -> Progress:
    """Return whether a claim is bound, waits, or cannot be bound for a pod on the step's node."""
    claim = stores.claims.get(step.claim.key)
    if claim is None or claim.uid != step.claim.uid:
        return _failed(ClaimFault.NOT_FOUND, step.claim.name)
    if claim.deleting:
        return _failed(ClaimFault.DELETING, step.claim.name)
    if claim.volume:
        return _bound(claim, step, stores.volumes.get(claim.volume), nodes)
    return _unbound(claim, step, stores, assumed)


def _bound(
    claim: Claim, step: ClaimStep, volume: PersistentVolume | None, nodes: NodeTable
) -> Progress:
    # The volume of a claim may be seen later than the claim.
    if volume is None:
        return _waiting(claim)
    if not _reaches(step.node, volume, nodes):
        return _failed(ClaimFault.VOLUME_OUT_OF_REACH, volume.key, step.node)
    return BOUND if claim.bound else _waiting(claim)


def _unbound(claim: Claim, step: ClaimStep, stores: VolumeStores, assumed: AssumeCache) -> Progress:
    if step.volume is not None:
        volume = stores.volumes.get(step.volume.name)
        if volume is None or volume.uid != step.volume.uid:
            return _failed(ClaimFault.VOLUME_NOT_FOUND, step.volume.name)
        belongs = volume.belongs_to(claim) or assumed.stands(step)
        return _waiting(claim) if belongs else _failed(ClaimFault.VOLUME_TAKEN_BACK, volume.key)
    made_by = stores.classes.get(claim.need.storage_class)
    if made_by is None or not made_by.makes_volumes:
        return _failed(ClaimFault.NO_PROVISIONER, step.claim.name)
    # The volume may be created for another member's node: its nodes are known once it exists.
    if claim.node or assumed.stands(step):
        return _waiting(claim)
    return _failed(ClaimFault.NOT_PROVISIONED, step.claim.name)


def _reaches(node: str, volume: PersistentVolume, nodes: NodeTable) -> bool:
    if volume.volume.nodes is None:
        return True
    row = nodes.rows.get(node)
    return row is not None and bool(terms(volume.volume.nodes, nodes)[row])


def _waiting(claim: Claim) -> Progress:
    return Progress(Stage.WAITING, waiting=(UnboundClaim(claim.key, claim.need.storage_class),))


def _failed(fault: ClaimFault, name: str, node: str = "") -> Progress:
    return Progress(Stage.FAILED, ClaimFailed(fault, name, node))
