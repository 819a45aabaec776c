"""What our log says of the lines of libraries."""

import json
import subprocess
import sys

import pytest

# In a process of its own: what is configured here would hold for all tests that follow.
LOG_A_LINE = """
import logging, sys
from gang_scheduler.telemetry import logs
from gang_scheduler.settings.run import Settings
logs.configure(Settings())
logging.getLogger("kopf._cogs.clients.api").error(sys.argv[1])
"""
LOG_AN_ERROR = """
import logging
from gang_scheduler.telemetry import logs
from gang_scheduler.settings.run import Settings
logs.configure(Settings())
try:
    raise ValueError("why")
except ValueError:
    logging.getLogger("kopf").exception("a task has failed")
"""
FAIL_IN_THE_LOOP = """
import asyncio, builtins, sys, uvloop
from gang_scheduler.telemetry import logs
from gang_scheduler.settings.run import Settings
logs.configure(Settings())
async def main():
    told = {"message": sys.argv[1], "exception": getattr(builtins, sys.argv[3])(sys.argv[2])}
    asyncio.get_running_loop().call_exception_handler(told)
uvloop.run(main())
"""
HANDSHAKE = "Fatal error on SSL protocol"
NOT_RETRIEVED = "Future exception was never retrieved"
CUT_SHORT = "an error occurred during closing of asynchronous generator <infinite_watch>"
WENT_ON = "generator didn't stop after athrow()"
CLOSED = "unable to perform operation on <TCPTransport closed=True>; the handler is closed"
RETRIED = "Request attempt #1 failed; will retry: GET https://api -> APITooManyRequestsError()"
GIVEN_UP = "Request attempt #9 failed; escalating: GET https://api -> APITooManyRequestsError()"


def written_of(program: str, *arguments: str) -> str:
    """Run a program in a process of its own; return what it logs."""
    argv = [sys.executable, "-c", program, *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stderr


@pytest.mark.parametrize(("line", "level"), [(RETRIED, "warning"), (GIVEN_UP, "error")])
def test_a_request_that_kopf_makes_again_is_a_warning(line: str, level: str) -> None:
    written = written_of(LOG_A_LINE, line)
    assert (line, level) == (json.loads(written)["event"], json.loads(written)["level"])


def test_what_kopf_says_of_absent_crds_is_no_line() -> None:
    unserved = "Unresolved resources cannot be served (try creating their CRDs): podgroups"
    assert "" == written_of(LOG_A_LINE, unserved)


def test_an_error_of_kopf_is_a_line_with_its_traceback_as_text() -> None:
    (line,) = written_of(LOG_AN_ERROR).splitlines()

    found = json.loads(line)
    assert "exc_info" not in found
    assert found["exception"].startswith("Traceback (most recent call last):")
    assert found["exception"].endswith("ValueError: why")


@pytest.mark.parametrize(
    ("message", "error", "kind"),
    [
        (HANDSHAKE, CLOSED, "RuntimeError"),
        (CUT_SHORT, WENT_ON, "RuntimeError"),
        (NOT_RETRIEVED, "Connection reset by peer", "ConnectionResetError"),
    ],
)
def test_what_is_said_of_connections_that_were_given_up_is_no_line(
    message: str, error: str, kind: str
) -> None:
    assert "" == written_of(FAIL_IN_THE_LOOP, message, error, kind)


@pytest.mark.parametrize(
    ("message", "error"),
    [(HANDSHAKE, "why"), ("why", CLOSED), (CUT_SHORT, "why"), (NOT_RETRIEVED, "why")],
)
def test_other_errors_of_the_event_loop_are_lines(message: str, error: str) -> None:
    (line,) = written_of(FAIL_IN_THE_LOOP, message, error, "RuntimeError").splitlines()
    assert message == json.loads(line)["event"]
