"""`python -m tools.site`: build the docs site, and check that no page loads from another host."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from tools.site.hooks import PROJECT

SITE: Final = PROJECT / "build" / "site"
LOADED: Final = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*"
    r"\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)"
)
"""What a browser fetches by itself: links that a reader clicks are no such things."""


def loaded(page: str) -> Iterator[str]:
    """Yield the addresses on other hosts that a page loads."""
    for match in LOADED.finditer(page):
        yield match[1] or match[2]


def main() -> int:
    """Build the site; return the exit status."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean"]
    # It advertises another product in 20 lines.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=PROJECT, check=False, env=environment)
    if built.returncode != 0:
        return built.returncode
    foreign = {
        f"{each.relative_to(SITE)} loads {address}"
        for each in SITE.rglob("*.html")
        for address in loaded(each.read_text())
    }
    for each in sorted(foreign):
        print(each, file=sys.stderr)
    return int(bool(foreign))


if __name__ == "__main__":
    sys.exit(main())
