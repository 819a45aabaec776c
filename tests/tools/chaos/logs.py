"""What in the logs of replicas tells of an error that nothing was there to handle."""

from collections.abc import Iterable, Iterator

TRACEBACK = "Traceback"
LOST_LEASE = "LeadershipLost"
END_OF_KOPF = " has failed: "
"""Kopf logs its own end so, with a traceback, and is started again."""


def unexpected(lines: Iterable[str]) -> Iterator[str]:
    """Yield the tracebacks: lines of JSON with one in them, and all that is between such lines.

    Not that of a process that has ended because it has lost its Lease.
    """
    crash: list[str] = []
    for line in (*lines, "{}"):
        if not line.startswith("{"):
            crash.append(line)
            continue
        written = "\n".join(crash)
        if TRACEBACK in written and LOST_LEASE not in written:
            yield written
        crash.clear()
        if TRACEBACK in line and END_OF_KOPF not in line:
            yield line
