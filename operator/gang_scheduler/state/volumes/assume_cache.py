"""Decisions on claims and volumes, assumed until the API server shows them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.state.volumes.claim_steps import ClaimStep


class Target(NamedTuple):
    """The object that a step writes: a volume by its name, or a claim by its key."""

    kind: str
    key: str


@dataclass(slots=True, eq=False)
class _Assumed:
    """An assumed value: of a volume, the key of its claim; of a claim, the name of its node.

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
        """Return whether a step was written, and the watch has not shown it yet."""
        assumed = self._assumed.get(target_of(step))
        return assumed is not None and assumed.version > 0

    def stands(self, step: ClaimStep) -> bool:
        """Return whether a step is assumed, and the API server has not shown it yet."""
        return target_of(step) in self._assumed

    def shown(self, target: Target, version: int) -> None:
        """Note the version that the API server shows: from our write on, nothing is assumed."""
        assumed = self._assumed.get(target)
        if assumed is not None and 0 < assumed.version <= version:
            self.gone(target)

    def gone(self, target: Target) -> None:
        """Note that nothing is assumed of an object any more."""
        assumed = self._assumed.pop(target, None)
        if assumed is not None and self._volumes.get(assumed.value) == target.key:
            del self._volumes[assumed.value]

    def claim_of(self, volume: str) -> str:
        """Return the key of the claim that a volume is assumed for; "" for none."""
        assumed = self._assumed.get(volume_target(volume))
        return assumed.value if assumed is not None else ""

    def node_of(self, claim: str) -> str:
        """Return the node that a claim's volume is to be made for; "" for none."""
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
