"""Whether a gang may make room for itself by evicting others, and if not, why."""

from typing import Final

from gang_scheduler.cluster.records import Record
from gang_scheduler.cluster.tenancy import Tenancy
from gang_scheduler.model.gangs import UNDER_WAY
from gang_scheduler.model.pods import rank_key

MOST_ROUNDS: Final = 3
"""How often a gang may evict others in ROUNDS_SECONDS."""
ROUNDS_SECONDS: Final = 600

SWITCHED_OFF: Final = "preemption is switched off"
TOO_MANY_ROUNDS: Final = f"{MOST_ROUNDS} preemption rounds in 10 minutes were not enough"


class Eligibility:
    """Answers for one gang at a time. `tenancy` knows who is on the nodes."""

    def __init__(self, tenancy: Tenancy) -> None:
        self._tenancy = tenancy

    def why_not(self, record: Record, now: int) -> str:
        """Return why the gang may not evict anybody now; "" if it may."""
        if not self._tenancy.rules.preemption:
            return SWITCHED_OFF
        peaceful = min(
            (pod for pod in record.living() if not pod.preempts), key=rank_key, default=None
        )
        if peaceful is not None:
            return f"pod {peaceful.key} has preemptionPolicy Never"
        if self._is_under_way(record, now):
            return UNDER_WAY
        recent = sum(1 for at in record.rounds if now - at < ROUNDS_SECONDS)
        return TOO_MANY_ROUNDS if recent >= MOST_ROUNDS else ""

    def may_change(self, record: Record) -> bool:
        """Tell whether the answer may be another one later, although the gang is the same."""
        return record.preempting is not None or bool(record.rounds)

    def _is_under_way(self, record: Record, now: int) -> bool:
        """Tell whether pods that are evicted for the gang are still leaving."""
        victims = record.preempting.victims if record.preempting is not None else ()
        return any(self._tenancy.leaving.is_awaited(uid, now) for uid in victims)
