"""What our log says of the lines of libraries."""

import json
import subprocess
import sys

import pytest

# In a process of its own: what is configured here would hold for all tests that follow.
LOG_A_LINE = """
import logging, sys
from gang_scheduler import telemetry
from gang_scheduler.settings import Settings
telemetry.configure(Settings())
logging.getLogger("kopf._cogs.clients.api").error(sys.argv[1])
"""
RETRIED = "Request attempt #1 failed; will retry: GET https://api -> APITooManyRequestsError()"
GIVEN_UP = "Request attempt #9 failed; escalating: GET https://api -> APITooManyRequestsError()"


@pytest.mark.parametrize(("line", "level"), [(RETRIED, "warning"), (GIVEN_UP, "error")])
def test_a_request_that_kopf_makes_again_is_a_warning(line: str, level: str) -> None:
    argv = [sys.executable, "-c", LOG_A_LINE, line]
    written = subprocess.run(argv, check=True, capture_output=True, text=True).stderr
    assert (line, level) == (json.loads(written)["event"], json.loads(written)["level"])
