"""The words for nodes that a gang waits for, or that could not be bought."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.model.causes.provisioning import (
    AskedAgain,
    MostOutstanding,
    NodesAwaited,
    NotProvisioned,
    RequestLeaves,
    TooManyPodSets,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.provisioning import Came
from gang_scheduler.report.texts.causes.entries import Text, entry

_CAME: Final = {
    Came.ASKED: "no answer yet",
    Came.ACCEPTED: "accepted",
    Came.PROVISIONED: "provisioned, and the gang does not fit yet",
    Came.FAILED: "failed",
    Came.REVOKED: "the capacity was revoked",
    Came.EXPIRED: "the booking expired",
    Came.REFUSED: "not taken by the API server",
}


def came_text(came: Came, message: str) -> str:
    """Return what came of a request, with what the autoscaler says of it."""
    return f"{_CAME[came]}: {message}" if message else _CAME[came]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(
            NodesAwaited,
            lambda it: (
                f"nodes are asked for by ProvisioningRequest {it.request} of class "
                f"{it.class_name}: {came_text(it.came, it.message)}"
            ),
        ),
        entry(
            AskedAgain,
            lambda it: (
                f"nodes were asked for {_times(it.number)}: {came_text(it.came, it.message)}; "
                f"asked again at {rfc3339(it.until)}"
            ),
        ),
        entry(
            RequestLeaves,
            lambda it: f"ProvisioningRequest {it.request} asks for other nodes, and is deleted",
        ),
        entry(
            MostOutstanding,
            lambda it: (
                f"{it.number} ProvisioningRequests of "
                f"{f'queue {it.queue}' if it.queue else 'gangs without a queue'} stand, as many "
                "as a namespace may have at once"
            ),
        ),
        entry(
            NotProvisioned,
            lambda it: (
                f"nodes were asked for {_times(it.number)}, the last time: "
                f"{came_text(it.came, it.message)}"
            ),
        ),
        entry(
            TooManyPodSets,
            lambda it: (
                f"no nodes are asked for: members ask for nodes in {it.number} ways, and a "
                f"ProvisioningRequest can say {it.most}"
            ),
        ),
    )
)
