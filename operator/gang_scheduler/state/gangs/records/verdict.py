"""What the last try of a gang found."""

from gang_scheduler.model.plan import Refused
from gang_scheduler.model.problems import Problem


class Verdict:
    """Why a gang waits, and what users should know of it.

    `tried` says that there was a try since this process began. `refusal` is why members wait, None
    where none does: from the try, the binding that failed after it, or the claims that are waited
    for. `warnings` are what the last try found that holds nothing up, None before the first try; it
    was `late` when the schedule timeout had ended by the last refusal.

    `QueueingHints` writes the refusal, since it counts the gangs that wait.
    """

    __slots__ = ("late", "refusal", "tried", "warnings")

    def __init__(self) -> None:
        self.refusal: Refused | None = None
        self.warnings: tuple[Problem, ...] | None = None
        self.tried = False
        self.late = False

    def is_news(self, refusal: Refused, *, late: bool) -> bool:
        """Return whether a refusal says something else than this verdict, not only in numbers.

        `late`: the schedule timeout has ended.
        """
        if not self.tried or self.warnings or late != self.late:
            return True
        before = self.refusal
        if before is refusal:
            return False
        return before != refusal and (before is None or _wordless(before) != _wordless(refusal))

    def placed(self, stands: Refused | None) -> None:
        """Note that a try found room; what binding met before `stands` until that succeeds."""
        self.refusal, self.warnings, self.tried = stands, (), True

    def refused(self, refusal: Refused, *, late: bool) -> None:
        """Note how a try ended; `late`: after the schedule timeout."""
        self.refusal, self.warnings, self.tried, self.late = refusal, (), True, late

    def note(self, refusal: Refused | None) -> None:
        """Note why the gang waits since the try; None where it does not."""
        self.refusal = refusal

    def warn(self, problem: Problem) -> None:
        """Add what the same try found."""
        self.warnings = tuple(dict.fromkeys((*(self.warnings or ()), problem)))

    def drop_warnings(self) -> None:
        """Warn of nothing: what the gang was warned of may be gone."""
        self.warnings = ()


def _wordless(refusal: Refused) -> tuple[object, ...]:
    """Return what a refusal says, apart from counts that change with every pod elsewhere."""
    misfit, rejection = refusal.misfit, refusal.with_group
    rejections = {words for words, _ in misfit.rejections} if misfit else None
    short = misfit.shortage.obstacle if misfit and misfit.shortage else None
    with_group = (rejection.group, rejection.pod, rejection.refused.misfit) if rejection else None
    return (
        *(refusal.reason, refusal.pods, refusal.cause, refusal.left_over, refusal.preemption),
        *(rejections, with_group, short, refusal.if_empty, refusal.empty_flavors),
    )
