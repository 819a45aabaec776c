"""Takes plans into a cache for tests that write nothing, or not by the binder and the evictor."""

from collections.abc import Iterable, Sequence

from gang_scheduler import internal_errors
from gang_scheduler.apply import plan as plans
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.model.plan import Placed, Plan, Preemption
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.state.cache import Cache


class WritesNothing:
    """Writers of a plan for which no write is ever begun."""

    def stop_preempting(self, uids: Iterable[str]) -> None:
        """Do nothing."""

    def bind(self, together: Sequence[Placed]) -> None:
        """Do nothing: the members stay assumed."""

    def is_preempting(self, _: Preemption) -> bool:
        """Say no."""
        return False

    def preempt(self, preemption: Preemption) -> None:
        """Do nothing: no victim leaves."""

    def admit(self, admission: Admission) -> None:
        """Do nothing: what is started stays suspended."""

    def suspend(self, suspension: Suspension) -> None:
        """Do nothing: what is suspended goes on."""


def take_in(cache: Cache, plan: Plan, now_seconds: int, writers: plans.Writers) -> plans.TakenIn:
    """Take in a plan as the loop does, but let an error of ours fail the test."""
    before = internal_errors.problem()
    lost_nominations = LostNominations(cache, Naming())
    taken = plans.take_in(
        cache, plan, now_seconds, lost_nominations=lost_nominations, writers=writers
    )
    assert before == internal_errors.problem()
    return taken
