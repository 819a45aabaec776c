"""The words for errors of ours, and for decisions that take too much of our time."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.errors import DecisionTooLong, InternalError
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS

TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(InternalError, lambda it: f"an error in the scheduler: {it.kind}: {it.text}"),
        entry(
            DecisionTooLong,
            lambda it: (
                f"to decide on it took the scheduler {it.seconds:.1f} s, more than its share of "
                f"{SHARE_SECONDS:.0f} s: it is tried again at {rfc3339(it.until)}, after all others"
            ),
        ),
    )
)
