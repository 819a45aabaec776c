"""Whether a gang asks for nodes now, waits, or has asked often enough."""

from dataclasses import replace

import pytest

from gang_scheduler.model.causes.queues import (
    AskedAgain,
    NodesAwaited,
    NotProvisioned,
    RequestLeaves,
)
from gang_scheduler.model.provisioning import STANDING, ProvisioningRequest, RequestState
from gang_scheduler.model.queues import Retry
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.provisioning import Judgement, Step, judge
from support.builders import gang

RETRY = Retry(times=2, base_seconds=60, most_seconds=100)
LEAD = replace(gang("a", pods=2), object_uid="u")
NOW = 1000


def request(
    attempt: int = 1, state: RequestState = RequestState.ASKED, **fields: object
) -> ProvisioningRequest:
    known = ProvisioningRequest(
        *("default", f"pgs-{attempt}", LEAD.key, "u", "digest", attempt, "class"),
        state=state,
        since=NOW,
    )
    return replace(known, **fields)  # type: ignore[arg-type]


def judged(*known: ProvisioningRequest, now: int = NOW) -> Judgement:
    return judge(LEAD, "digest", known, RETRY, now)


def test_a_gang_without_a_request_asks() -> None:
    assert Judgement(Step.ASK) == judged()


@pytest.mark.parametrize("state", sorted(STANDING))
def test_a_gang_asks_for_nothing_while_a_request_stands(state: RequestState) -> None:
    known = request(state=state)

    cause = NodesAwaited("pgs-1", "class", state)
    assert Judgement(Step.STAND, cause, 1, known) == judged(known)


@pytest.mark.parametrize(
    "state", [RequestState.FAILED, RequestState.REVOKED, RequestState.EXPIRED, RequestState.REFUSED]
)
def test_what_came_to_nothing_is_asked_again_after_a_pause(state: RequestState) -> None:
    known = request(state=state, message="why")

    waiting = judged(known, now=NOW + 59)
    again = judged(known, now=NOW + 60)

    assert (Step.WAIT, AskedAgain(1, state, "why", NOW + 60)) == (waiting.step, waiting.cause)
    assert (Step.ASK, 2) == (again.step, again.attempt)


def test_pauses_double_up_to_the_longest() -> None:
    assert [60, 100, 100, 100] == [RETRY.pause(number) for number in (1, 2, 3, 1000)]


def test_a_gang_gives_up_after_as_many_retries_as_it_has() -> None:
    known = request(3, RequestState.FAILED, message="why")

    found = judged(known, now=NOW * 9)

    assert (Step.GIVE_UP, NotProvisioned(3, RequestState.FAILED, "why")) == (
        found.step,
        found.cause,
    )


def test_the_last_attempt_counts() -> None:
    found = judged(request(2, RequestState.FAILED), request(1, RequestState.FAILED), now=NOW * 9)

    assert (Step.ASK, 3) == (found.step, found.attempt)


@pytest.mark.parametrize(
    "other",
    [
        request(digest="other"),
        request(gang_uid="before"),
        request(digest="other", state=RequestState.FAILED, deleting=True),
        request(deleting=True),
        request(state=RequestState.FAILED, deleting=True),
    ],
)
def test_nothing_is_asked_while_another_request_is_there(other: ProvisioningRequest) -> None:
    found = judged(other, now=NOW * 9)

    assert (Step.WAIT, RequestLeaves("pgs-1")) == (found.step, found.cause)


def test_requests_for_something_else_that_came_to_nothing_do_not_count() -> None:
    assert Step.ASK is judged(request(9, RequestState.FAILED, digest="other")).step


def test_a_second_request_that_stands_goes_first() -> None:
    found = judged(request(1), request(2))

    assert (Step.WAIT, RequestLeaves("pgs-1")) == (found.step, found.cause)


def test_a_gang_that_its_members_describe_is_known_by_its_name() -> None:
    known = replace(request(), gang_uid="")
    lead = replace(gang("a", pods=2), object_uid="", uid="of-the-oldest-pod")

    assert Step.STAND is judge(lead, "digest", [known], RETRY, NOW).step
    assert GangKey(*known.gang) == lead.key
