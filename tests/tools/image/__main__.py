"""`python -m tools.image IMAGE`: build and push the image without a container engine."""

import argparse
import subprocess
import sys

from tools.image import build, packages

BASE = "python:3.11-slim"


def main() -> int:
    """Build, push, and print the image's name with its digest."""
    arguments = _arguments()
    try:
        found = build.build(
            arguments.image, arguments.base, arguments.platforms, _say, arguments.python
        )
        print(found)
    except (build.ImageError, subprocess.CalledProcessError) as error:
        _say(str(error))
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("image", help="as registry.example.com/py-gang-scheduler:0.2.0")
    parser.add_argument("--base", default=BASE, help="with glibc and Python; best with its digest")
    parser.add_argument("--python", help="its minor version in the base, where that says none")
    parser.add_argument(
        "--platforms", nargs="+", choices=packages.MACHINES, default=[*packages.MACHINES]
    )
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
