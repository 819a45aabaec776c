"""The words for preemptions that were given up."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.causes.preemption import (
    MemberGone,
    NodeFault,
    NominationLost,
    NominationTaken,
    NominationUnused,
    StepFailed,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

_NODE_FAULTS: Final = {
    NodeFault.GONE: "node {node} is gone",
    NodeFault.NOT_READY: "node {node} is not ready",
    NodeFault.UNSCHEDULABLE: "node {node} takes no more pods",
    NodeFault.FULL: "the room on {node} was taken",
}
TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(StepFailed, lambda it: f"{it.step} {it.pod}: {it.answer}"),
        entry(MemberGone, lambda it: f"pod {it.pod} is gone"),
        entry(NominationLost, lambda it: _NODE_FAULTS[it.fault].format(node=it.node)),
        entry(
            NominationUnused,
            lambda it: f"the API server refused {it.times} times to bind to the room on {it.node}",
        ),
        entry(
            NominationTaken,
            lambda it: f"the room on {it.node} goes to {it.taker}, which has a higher priority",
        ),
    )
)
