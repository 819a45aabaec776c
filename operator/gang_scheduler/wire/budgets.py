"""What is read of PodDisruptionBudgets."""

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.selectors import LabelSelector
from gang_scheduler.wire.structs import Int32, Int64, Wire


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """`spec` of a PodDisruptionBudget. Without a selector the budget covers no pod."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """`status` of a PodDisruptionBudget, and the generation that it is about."""

    observed_generation: Int64 = 0
    disruptions_allowed: Int32 = 0


class PodDisruptionBudget(Wire, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Metadata
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None
