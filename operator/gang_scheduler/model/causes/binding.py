"""A binding that failed, or room that was held for one."""

from dataclasses import dataclass

from gang_scheduler.model.problems import Cause


@dataclass(frozen=True, slots=True)
class BindingFailed(Cause):
    """So many of the members that were to be bound are not; `cause` is what was met last."""

    failed: int
    of: int
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class ApiAnswer(Cause):
    """What the API server answered to a write, in its words."""

    text: str


@dataclass(frozen=True, slots=True)
class HeldForPodGone(Cause):
    """A pod for which room was held is gone."""

    pod: str


@dataclass(frozen=True, slots=True)
class HeldNodeGone(Cause):
    """A node on which room was held is gone."""

    node: str


@dataclass(frozen=True, slots=True)
class NotLeading(Cause):
    """Another replica leads, or none does: this one writes no more."""


@dataclass(frozen=True, slots=True)
class HoldEnded(Cause):
    """Room was held for so many seconds, and `cause` is what was waited for to the end."""

    seconds: float
    cause: Cause | None = None
