"""`python -m tools.release REGISTRY`: push image and chart, and write what is to be attached."""

import argparse
import subprocess
import sys
from pathlib import Path

from tools.image.__main__ import BASE
from tools.image.build import ImageError
from tools.image.packages import MACHINES
from tools.release.publish import ReleaseError, publish


def main() -> int:
    """Make a release of the version of the package; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("registry", help="as ghcr.io/organization")
    parser.add_argument("--base", default=BASE, help="with glibc and Python; best with its digest")
    parser.add_argument("--platforms", nargs="+", choices=MACHINES, default=[*MACHINES])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where the files go")
    given = parser.parse_args()
    try:
        made = publish(given.registry, given.base, given.platforms, given.out, _say)
    except (ReleaseError, ImageError, subprocess.CalledProcessError) as error:
        _say(str(error))
        return 1
    # What a workflow signs.
    print(made.image)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
