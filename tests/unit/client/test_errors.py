"""What an answer of the API server means for the caller."""

import msgspec
import pytest

from gang_scheduler.client import errors
from gang_scheduler.client.errors import BUDGET, TERMINATING, ApiError, Kind


@pytest.mark.parametrize(
    ("status", "cause", "kind"),
    [
        (0, "", Kind.UNKNOWN),
        (401, "", Kind.DENIED),
        (403, "", Kind.DENIED),
        (403, TERMINATING, Kind.REFUSED),
        (404, "", Kind.GONE),
        (409, "", Kind.CONFLICT),
        (422, "", Kind.REFUSED),
        (429, "", Kind.THROTTLED),
        (429, BUDGET, Kind.PROTECTED),
        (500, "", Kind.UNKNOWN),
        (503, "", Kind.UNKNOWN),
    ],
)
def test_status_and_cause_say_what_can_be_done(status: int, cause: str, kind: Kind) -> None:
    assert kind is ApiError(status, "", cause=cause).kind


def test_a_status_of_the_api_server_has_its_message_and_its_cause() -> None:
    status = {"message": "not now", "details": {"causes": [{"reason": BUDGET}]}}

    error = errors.of_answer(429, "Too Many Requests", msgspec.json.encode(status), "7")

    assert (429, "not now", 7.0, BUDGET) == error.details


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b'{"kind": "Status"}', b"bad gateway"])
def test_any_other_body_is_the_message_itself(body: bytes) -> None:
    error = errors.of_answer(502, "Bad Gateway", body, "soon")

    expected = body.decode(errors="replace") or "Bad Gateway"
    assert (502, expected, 0.0, "") == error.details
