"""The words for bindings that failed, and for room that was held."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.causes.binding import ApiAnswer, HeldForPodGone, HeldNodeGone, NotLeading
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(ApiAnswer, lambda it: it.text),
        entry(
            HeldForPodGone,
            lambda it: f"pod {it.pod} is gone, for which room was held",
        ),
        entry(
            HeldNodeGone,
            lambda it: f"node {it.node} is gone, where room was held",
        ),
        entry(NotLeading, lambda _: "this replica does not lead any more"),
    )
)
