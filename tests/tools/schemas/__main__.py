"""`python -m tools.schemas [--check]`: write the schemas of Kubernetes' kinds again.

They are taken from a control plane that is started for it.
"""

import argparse
import sys

from tools import controlplane, schemas


def main() -> int:
    """Write or check the file; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.schemas")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it is stale")
    check = parser.parse_args().check
    with controlplane.start() as plane:
        text = schemas.text(schemas.published(plane))
    stale = not schemas.FILE.exists() or schemas.FILE.read_text() != text
    if stale and check:
        print(f"{schemas.FILE} is stale, run: make schemas", file=sys.stderr)
    elif stale:
        schemas.FILE.write_text(text)
        print(f"wrote {schemas.FILE}")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
