"""The words for preemptions that were given up."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.preemption import (
    MemberGone,
    NodeFault,
    NominationExpired,
    NominationLost,
    NominationTaken,
    NominationUnused,
    SavesAwaited,
    StepFailed,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry
from gang_scheduler.report.texts.plurals import counted

_NODE_FAULTS: Final = {
    NodeFault.GONE: "node {node} is gone",
    NodeFault.NOT_READY: "node {node} is not ready",
    NodeFault.UNSCHEDULABLE: "node {node} takes no more pods",
    NodeFault.FULL: "the room on {node} was taken",
}
TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            SavesAwaited,
            lambda it: (
                f"{counted(it.gangs, 'gang')} that make room for it may save their work until "
                f"{rfc3339(it.until)}"
            ),
        ),
        entry(StepFailed, lambda it: f"{it.step} {it.pod}: {it.answer}"),
        entry(MemberGone, lambda it: f"pod {it.pod} is gone"),
        entry(NominationLost, lambda it: _NODE_FAULTS[it.fault].format(node=it.node)),
        entry(
            NominationUnused,
            lambda it: f"the API server refused {it.times} times to bind to the room on {it.node}",
        ),
        entry(
            NominationExpired,
            lambda it: f"what it waits for did not come in {it.seconds} s, with room on {it.node}",
        ),
        entry(
            NominationTaken,
            lambda it: f"the room on {it.node} goes to {it.taker}, which has a higher priority",
        ),
    )
)
