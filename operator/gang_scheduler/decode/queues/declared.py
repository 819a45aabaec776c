"""What objects say of queues and flavors, beside the nouns of the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gang_scheduler.api.kinds import GVR
from gang_scheduler.model.provisioning_rules import ProvisioningRules
from gang_scheduler.model.queues import Flavor, Queue, QueueRef, RecentUsage, StopPolicy


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredQueue:
    """An object that declares a queue.

    `names_namespaces`: it says which namespaces may use the queue. `notes` are for people: fields
    that have no effect. Of our Queues `status` is what was last written there, and `recent` the
    usage in it.
    """

    queue: Queue
    gvr: GVR
    names_namespaces: bool = True
    notes: tuple[str, ...] = ()
    generation: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)
    recent: RecentUsage | None = None

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.queue.uid


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredFlavor:
    """A ResourceFlavor."""

    uid: str
    flavor: Flavor


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: a name in a namespace for a ClusterQueue. `weight` is that of usage decay."""

    uid: str
    namespace: str
    name: str
    cluster_queue: QueueRef
    stop: StopPolicy = StopPolicy.NONE
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class WorkloadPriorityClass:
    """A WorkloadPriorityClass."""

    uid: str
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """An AdmissionCheck, by the controller that answers it.

    `notes` are for people: fields that have no effect. `config` is the ProvisioningRequestConfig
    that it names, "" if it names none.
    """

    uid: str
    name: str
    controller: str
    api_version: str = ""
    notes: tuple[str, ...] = ()
    config: str = ""


@dataclass(frozen=True, slots=True)
class ProvisioningRequestConfig:
    """A ProvisioningRequestConfig: how an AdmissionCheck that names it asks for nodes."""

    uid: str
    name: str
    rules: ProvisioningRules
