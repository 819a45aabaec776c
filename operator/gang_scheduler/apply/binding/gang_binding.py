"""Members of a gang that are being bound together, with the outcome of each."""

import asyncio
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.causes.binding import BindingFailed
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Cause, Reason


class Outcome(enum.StrEnum):
    """How one binding ended."""

    BOUND = "bound"
    GONE = "gone"
    LOST = "lost"
    """The pod is on another node: another scheduler bound it."""
    REFUSED = "refused"
    GAVE_UP = "gave_up"
    WITHOUT_VOLUMES = "without_volumes"
    """Claims of the gang were not bound: no binding was tried."""


@dataclass(slots=True, eq=False)
class GangBinding:
    """Members of a gang that are being bound. `outcomes` fills up by pod uid.

    With `joins` the gang does not need these members for its quorum. `submitted_at` is the event
    loop's time, in seconds. `begun`: the first of the bindings is being sent, or was. `together`
    are the bindings of all gangs that start together, and `kept` the uids of members whose room is
    kept though they are not bound.
    """

    placed: Placed
    plan_id: str
    joins: bool = False
    begun: bool = False
    submitted_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    problem: Cause | None = None
    together: Sequence["GangBinding"] = ()
    kept: list[str] = field(default_factory=list)

    @property
    def gang(self) -> Gang:
        """The gang."""
        return self.placed.gang

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The members."""
        return tuple(bind.pod for bind in self.placed.binds)

    @property
    def done(self) -> bool:
        """Every member has its outcome."""
        return len(self.outcomes) == len(self.placed.binds)

    def refusal(self) -> Refused:
        """Return why members are not bound."""
        bound = {uid for uid, outcome in self.outcomes.items() if outcome is Outcome.BOUND}
        rest = tuple(bind.pod for bind in self.placed.binds if bind.pod.uid not in bound)
        if self.without_volumes:
            return Refused(self.gang, Reason.WAITING_FOR_VOLUMES, rest, cause=self.problem)
        cause = BindingFailed(len(rest), len(self.outcomes), self.problem)
        gang = replace(self.gang, partially_bound=self.gang.partially_bound or bool(bound))
        return Refused(gang, Reason.UNSCHEDULABLE, rest, cause=cause)

    @property
    def has_bound(self) -> bool:
        """Members are on nodes, some of these or others."""
        return self.gang.bound > 0 or self._on_nodes > 0

    @property
    def lacks(self) -> bool:
        """The quorum is not bound."""
        return not self.joins and self._on_nodes < self.gang.quorum

    @property
    def is_in_part(self) -> bool:
        """The quorum is not bound, and others of what starts together are."""
        return self.lacks and any(each.has_bound for each in self.together)

    @property
    def _on_nodes(self) -> int:
        return sum(each in (Outcome.BOUND, Outcome.LOST) for each in self.outcomes.values())

    @property
    def without_volumes(self) -> bool:
        """Claims of members were not bound, and so no member was."""
        return Outcome.WITHOUT_VOLUMES in self.outcomes.values()

    @property
    def refused(self) -> bool:
        """The API server will not have a member on its node."""
        return Outcome.REFUSED in self.outcomes.values()

    @property
    def failed(self) -> int:
        """How many members this scheduler did not bind."""
        return sum(outcome is not Outcome.BOUND for outcome in self.outcomes.values())
