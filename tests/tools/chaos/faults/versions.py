"""Replicas are replaced one by one by those of the last release, and back."""

import signal
import time
from pathlib import Path

from tools.chaos.faults.fault import REPLICAS, RIGHTS, SERVERS, Fault
from tools.chaos.replica import OPERATOR

READY_SECONDS = 90.0


class Roll(Fault):
    """All replicas become those of the last release, one after the other, and then ours again."""

    name = "rolling change of version"
    seconds = (5.0, 15.0)
    takes = frozenset({REPLICAS, RIGHTS, SERVERS})
    weight = 1

    def begin(self) -> None:
        """Go back to the last release."""
        self.struck = self.site.old_source is not None
        if self.site.old_source:
            self._roll_to(self.site.old_source)

    def end(self) -> None:
        """Upgrade."""
        if self.site.old_source:
            self._roll_to(OPERATOR)

    def _roll_to(self, source: Path) -> None:
        for each in self.site.replicas:
            each.source = source
            starts = each.starts
            each.signal(signal.SIGTERM)
            deadline = time.monotonic() + READY_SECONDS
            while time.monotonic() < deadline:
                if each.starts > starts and each.get("/readyz") is not None:
                    break
                time.sleep(0.2)


FAULTS = (Roll,)
