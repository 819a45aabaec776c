"""An admission of a suspended workload that was not written, or whose pods did not come."""

from dataclasses import dataclass

from gang_scheduler.model.problems import Cause


@dataclass(frozen=True, slots=True)
class WorkloadChanged(Cause):
    """Another writer changed the workload after it was decided on: it is decided on anew."""


@dataclass(frozen=True, slots=True)
class WorkloadGone(Cause):
    """The workload was deleted."""


@dataclass(frozen=True, slots=True)
class TemplateGone(Cause):
    """The workload has no pod template where it had one; `path` is in dots."""

    path: str


@dataclass(frozen=True, slots=True)
class PatchForbidden(Cause):
    """The scheduler may not patch a kind of workloads; `kind` is its name as that of a CRD."""

    kind: str


@dataclass(frozen=True, slots=True)
class KueueManages(Cause):
    """Kueue has a Workload for it, by `name`, and decides when it starts: two would undo it."""

    name: str


@dataclass(frozen=True, slots=True)
class GangShared(Cause):
    """Two workloads, each by its kind and name, wait suspended with members in one gang."""

    first: str
    second: str
