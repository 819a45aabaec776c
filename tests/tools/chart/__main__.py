"""`python -m tools.chart [--check]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.chart import CHART, readme, schema


def files() -> dict[Path, str]:
    """Return the text of every generated file."""
    return {
        CHART / "values.schema.json": schema.text(),
        readme.README: readme.text(schema.values_schema()),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the files; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.chart")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on stale files")
    check = parser.parse_args(arguments).check
    stale = {path: text for path, text in files().items() if path.read_text() != text}
    for path, text in stale.items():
        if check:
            print(f"{path} is stale, run: make chart", file=sys.stderr)
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
