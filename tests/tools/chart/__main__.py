"""`python -m tools.chart [--check]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.chart import CHART, readme, schema
from tools.dashboards import scheduler, training_jobs

DASHBOARDS = CHART / "files" / "dashboards"


def files() -> dict[Path, str]:
    """Return the text of every generated file."""
    return {
        CHART / "values.schema.json": schema.text(),
        readme.README: readme.text(schema.values_schema()),
        DASHBOARDS / "training-jobs.json": training_jobs.text(),
        DASHBOARDS / "scheduler.json": scheduler.text(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the files; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.chart")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on stale files")
    check = parser.parse_args(arguments).check
    stale = {path: text for path, text in files().items() if _now(path) != text}
    for path, text in stale.items():
        if check:
            print(f"{path} is stale, run: make chart", file=sys.stderr)
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return 1 if check and stale else 0


def _now(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
