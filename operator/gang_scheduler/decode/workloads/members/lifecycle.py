"""Whether the controller of a workload creates what is missing now."""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Wire

Body = Mapping[str, Any]

ENDED: Final = frozenset(
    {"Complete", "Completed", "Succeeded", "Failed", "FailureTarget", "SuccessCriteriaMet"}
)
"""Conditions of workloads that have ended, or are about to."""
SUSPENDED: Final = "Suspended"
CONTROLLERS: Final = frozenset(
    {
        "",
        "kubernetes.io/job-controller",
        "jobset.sigs.k8s.io/jobset-controller",
        "kubeflow.org/training-operator",
        "kubeflow.org/mpi-operator",
        "trainer.kubeflow.org/trainjob-controller",
        "ray.io/kuberay-operator",
        "workload.codeflare.dev/appwrapper",
    }
)
"""Values of `managedBy` for which the kind's own controller does its work."""


class _RunPolicy(Wire, frozen=True):
    suspend: bool = False
    managed_by: str = ""


class _Spec(Wire, frozen=True):
    """Kinds of Kubeflow say in `runPolicy` what others say beside it."""

    suspend: bool = False
    managed_by: str = ""
    run_policy: _RunPolicy = _RunPolicy()


class _Status(Wire, frozen=True):
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Workload(Wire, frozen=True):
    """A workload, as far as it says what its controller does now."""

    metadata: Metadata = Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def has_ended(self) -> bool:
        """Whether the controller creates nothing more, whatever is missing."""
        return self._is_any(ENDED) or bool(self.metadata.deletion_timestamp)

    @property
    def was_suspended(self) -> bool:
        """Whether the controller has seen that it is suspended."""
        return self._is_any({SUSPENDED})

    @property
    def is_suspended(self) -> bool:
        """Whether it is to be suspended."""
        return self.spec.suspend or self.spec.run_policy.suspend

    @property
    def is_elsewhere(self) -> bool:
        """Whether another controller than that of the kind creates the pods."""
        return not {self.spec.managed_by, self.spec.run_policy.managed_by} <= CONTROLLERS

    def _is_any(self, types: Collection[str]) -> bool:
        return any(each.type in types and each.status == "True" for each in self.status.conditions)


class Phase(NamedTuple):
    """Where in the status stands in a word what the workload does, and the words for its end."""

    path: tuple[str, ...] = ()
    ended: frozenset[str] = frozenset()

    def has_ended(self, body: Body) -> bool:
        """Return whether the status says that nothing more comes of it."""
        if not self.path:
            return False
        return part(body, "status", *self.path[:-1]).get(self.path[-1]) in self.ended


NO_PHASE: Final = Phase()


def is_started(source: Source, phase: Phase) -> bool:
    """Return whether the controller of a workload creates what is missing.

    One that is suspended is taken as started unless it has been on a cluster: before it is there,
    the question is what becomes of it then. Raises InvalidField.
    """
    workload = source.read(Workload)
    waits = workload.is_suspended and (source.from_cluster or workload.was_suspended)
    ended = workload.has_ended or phase.has_ended(source.body)
    return not (waits or ended or workload.is_elsewhere)
