"""The operator that waits less for its watches: `python impatient.py SILENT ANEW DEAD run ...`.

What is said of 20, 60 and 120 s holds for as many of these seconds, and a test takes less time.
"""

import sys
from typing import Final

from gang_scheduler.cli import main as command
from gang_scheduler.watch import kopf, list_watch, supervisor

LOOK_SECONDS: Final = 0.5


def main() -> None:
    """Be impatient, and be the operator."""
    _, silent, anew, dead, *arguments = sys.argv
    for module in (kopf, list_watch):
        setattr(module, "SILENT_SECONDS", float(silent))  # noqa: B010 - it is a constant.
    limits = supervisor.Limits(anew=float(anew), dead=float(dead), look=LOOK_SECONDS)
    supervisor.DEFAULT = limits
    sys.argv = ["py-gang-scheduler", *arguments]
    command()


if __name__ == "__main__":
    main()
