"""`python -m tools.pages [--check]`: write what is stale again, or only say so."""

import argparse
import sys

from tools.pages import PAGES


def main() -> int:
    """Write or check the pages; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    check = parser.parse_args().check
    stale = [page for page, text in PAGES.items() if page.read_text() != text()]
    for page in stale:
        if check:
            print(f"{page} is stale, run: make pages", file=sys.stderr)
        else:
            page.write_text(PAGES[page]())
            print(f"wrote {page}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
