"""The settings that decisions depend on."""

from pydantic import ConfigDict

from gang_scheduler.settings.gangs import GangSettings
from gang_scheduler.settings.preemption import PreemptionSettings
from gang_scheduler.settings.queues import QueueSettings
from gang_scheduler.settings.reservations import ReservationSettings
from gang_scheduler.settings.workloads import WorkloadSettings


# Fields are in the order of the bases from the last to the first.
class Policy(
    WorkloadSettings, ReservationSettings, QueueSettings, PreemptionSettings, GangSettings
):
    """The settings that decisions depend on: those of `run` that are flags of `simulate`, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")
