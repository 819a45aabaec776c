"""What the settings say of how the state of the cluster is kept."""

from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.failed_nodes import FailureRules
from gang_scheduler.state import evictable_pods, failed_nodes
from gang_scheduler.state.evictable_pods import Rules
from gang_scheduler.state.gangs.gang_queue import MOST_CHECKPOINTS
from gang_scheduler.state.provisioning import provisioning
from gang_scheduler.state.provisioning.provisioning import ProvisioningSettings
from gang_scheduler.state.queues import declared_queues, names, reservations, usage
from gang_scheduler.state.queues.declared_queues import QueueRules
from gang_scheduler.state.queues.names import NamingRules
from gang_scheduler.state.queues.reservations import ReservationSettings
from gang_scheduler.state.queues.usage import ChargeRules
from gang_scheduler.state.suspended import workloads
from gang_scheduler.state.suspended.workloads import ManageRules


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """The rules of each part of the cache; without any, those of a scheduler without settings.

    `timeout_seconds`: so long a gang may wait. `train_jobs`: whether TrainJobs are gangs.
    """

    timeout_seconds: int = 600
    evictions: Rules = evictable_pods.DEFAULT_RULES
    queues: QueueRules = declared_queues.DEFAULT_RULES
    naming: NamingRules = names.DEFAULT_RULES
    charges: ChargeRules = usage.DEFAULT_RULES
    reservations: ReservationSettings = reservations.DEFAULT_SETTINGS
    provisioning: ProvisioningSettings = provisioning.OFF
    failures: FailureRules = failed_nodes.DEFAULT_RULES
    managed: ManageRules = workloads.DEFAULT_RULES
    train_jobs: bool = True
    most_checkpoints: int = MOST_CHECKPOINTS


NO_SETTINGS: Final = CacheRules()
