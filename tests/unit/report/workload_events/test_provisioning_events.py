"""What is told of requests for nodes, and on which object."""

from dataclasses import replace

import pytest

from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.report.events import About
from gang_scheduler.report.workload_events import ProvisioningEvents
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding
from support.api_objects import pod_body, pod_group_body
from support.builders import NAMESPACE, SCHEDULER, gang_key
from support.metric_values import counted

REQUEST = ProvisioningRequest(NAMESPACE, "pgs-1", gang_key("a"), "uid-a", "d", 1, "class")
POD_GROUP = ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", NAMESPACE, "a", "uid-a")


class Recorded:
    """Takes Events."""

    def __init__(self) -> None:
        self.all: list[tuple[About, str, str, bool]] = []

    def record(  # noqa: D102 - as in Events.
        self, about: About, reason: str, note: str, *, warning: bool = False
    ) -> None:
        self.all.append((about, reason, note, warning))


def told(
    state: RequestState, message: str = "", *, there: bool = True
) -> list[tuple[str, str, bool]]:
    """Return the Events on the PodGroup of a gang."""
    cache, events = Cache([SCHEDULER], Changes()), Recorded()
    handlers = cache_feeding.event_handlers(cache)
    if there:
        cache_feeding.tell(handlers, "ADDED", pod_group_body("a"))
        cache_feeding.tell(handlers, "ADDED", pod_body("a-0", gang="a"))
    request = replace(REQUEST, state=state, message=message)
    ProvisioningEvents(cache, events).tell(request)  # type: ignore[arg-type]
    assert all(about == About(*POD_GROUP, gang=REQUEST.gang) for about, *_ in events.all)
    return [(reason, note, warning) for _, reason, note, warning in events.all]


@pytest.mark.parametrize(
    ("state", "message", "reason", "note", "warning"),
    [
        (
            RequestState.ASKED,
            "",
            "ProvisioningRequested",
            "nodes of class class are asked for",
            False,
        ),
        (RequestState.PROVISIONED, "", "Provisioned", "the nodes are there", False),
        (RequestState.FAILED, "no stock", "ProvisioningFailed", "failed: no stock", True),
        (RequestState.REVOKED, "", "ProvisioningFailed", "the capacity was revoked", True),
        (RequestState.EXPIRED, "", "ProvisioningFailed", "the booking expired", True),
        (RequestState.REFUSED, "x", "ProvisioningFailed", "rejected by the API server: x", True),
    ],
)
def test_what_came_of_a_request_is_reported_on_the_object_of_its_gang(
    state: RequestState, message: str, reason: str, note: str, *, warning: bool
) -> None:
    assert [(reason, f"ProvisioningRequest pgs-1: {note}", warning)] == told(state, message)


def test_that_a_request_was_accepted_is_counted_only() -> None:
    before = counted("pgs_provisioning_requests_total", state="Accepted")

    assert [] == told(RequestState.ACCEPTED)
    assert counted("pgs_provisioning_requests_total", state="Accepted") == before + 1


def test_of_a_gang_that_is_gone_nothing_is_reported() -> None:
    assert [] == told(RequestState.FAILED, there=False)
