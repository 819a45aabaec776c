"""What we promised to claims, from the decision until the API server shows it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gang_scheduler.state.volumes.claim_steps import ClaimStep


class Target(NamedTuple):
    """What a step is written to: a volume by its name, or a claim by its key."""

    kind: str
    key: str


@dataclass(slots=True, eq=False)
class _Promise:
    """What was promised: to a volume, the key of the claim; to a claim, the name of the node.

    `holders` are the uids of the pods that need it. `version` is that of our write, 0 before it.
    """

    value: str
    holders: set[str] = field(default_factory=set)
    version: int = 0


class ClaimPromises:
    """The promises that hold, and the steps of each pod that was assumed on a node."""

    def __init__(self) -> None:
        self._promises: dict[Target, _Promise] = {}
        self._steps: dict[str, tuple[ClaimStep, ...]] = {}
        self._pods: dict[Target, set[str]] = {}
        self._volumes: dict[str, str] = {}

    def make(self, uid: str, steps: Iterable[ClaimStep]) -> None:
        """Promise to a pod what its steps are for."""
        self.forget(uid)
        self._steps[uid] = tuple(steps)
        for step in self._steps[uid]:
            self._promised(step).holders.add(uid)
            for target in _targets(step):
                self._pods.setdefault(target, set()).add(uid)

    def forget(self, uid: str) -> tuple[ClaimStep, ...]:
        """Take back what was promised to a pod alone and was not written; return its steps."""
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
        """Return the uids of the pods that have a step for this."""
        return frozenset(self._pods.get(target, ()))

    def written(self, step: ClaimStep, version: int) -> None:
        """Note that a step was written, whether or not somebody still needs it."""
        self._promised(step).version = version

    def is_written(self, step: ClaimStep) -> bool:
        """Tell whether a step was written, and its echo is still on its way."""
        promise = self._promises.get(target_of(step))
        return promise is not None and promise.version > 0

    def stands(self, step: ClaimStep) -> bool:
        """Tell whether a step is promised, and the API server has not shown it yet."""
        return target_of(step) in self._promises

    def shown(self, target: Target, version: int) -> None:
        """Note a version of an object that the API server shows: from ours on, it counts."""
        promise = self._promises.get(target)
        if promise is not None and 0 < promise.version <= version:
            self.gone(target)

    def gone(self, target: Target) -> None:
        """Note that nothing is promised to an object any more."""
        promise = self._promises.pop(target, None)
        if promise is not None and self._volumes.get(promise.value) == target.key:
            del self._volumes[promise.value]

    def claim_of(self, volume: str) -> str:
        """Return the key of the claim that a volume is promised to; "" for none."""
        promise = self._promises.get(volume_target(volume))
        return promise.value if promise is not None else ""

    def node_of(self, claim: str) -> str:
        """Return the node that a claim's volume is to be made for; "" for none."""
        promise = self._promises.get(claim_target(claim))
        return promise.value if promise is not None else ""

    def volume_of(self, claim: str) -> str:
        """Return the volume that a claim was promised; "" for none."""
        return self._volumes.get(claim, "")

    def _promised(self, step: ClaimStep) -> _Promise:
        target = target_of(step)
        if target not in self._promises:
            self._promises[target] = _Promise(_value(step))
            if step.volume is not None:
                self._volumes[step.claim.key] = step.volume.name
        return self._promises[target]

    def _leave(self, target: Target, uid: str) -> None:
        promise = self._promises.get(target)
        if promise is not None:
            promise.holders.discard(uid)
            if not promise.holders and not promise.version:
                self.gone(target)


def target_of(step: ClaimStep) -> Target:
    """Return what a step is written to."""
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
