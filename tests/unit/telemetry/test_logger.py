"""Loggers import structlog with their first line, and say what it says."""

import subprocess
import sys

import structlog
from structlog.testing import capture_logs

from gang_scheduler.telemetry import logger
from gang_scheduler.telemetry.logger import Logger

QUIET = """
import sys
from gang_scheduler.telemetry import logger
log = logger.Logger()
logger.be_quiet()
assert "structlog" not in sys.modules
log.warning("left_out")
log.error("written", of="it")
assert "structlog" in sys.modules
"""


def test_a_line_is_that_of_structlog() -> None:
    with capture_logs() as lines:
        Logger().info("bound", pod="a")

    assert [{"event": "bound", "pod": "a", "log_level": "info"}] == lines


def test_commands_import_it_for_an_error_and_write_nothing_less() -> None:
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)

    assert "written" in done.stderr
    assert "left_out" not in done.stderr
    assert "" == done.stdout


def test_where_it_is_imported_already_the_same_holds_at_once() -> None:
    try:
        logger.be_quiet()

        assert structlog.is_configured()
    finally:
        structlog.reset_defaults()
