"""docs/images/badge-*.svg: licence, Python and Kubernetes, as the tree says them."""

import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[3]
BINARIES: Final = PROJECT / "tests" / "tools" / "controlplane" / "binaries"
LETTER: Final = 6.6
"""Pixels of a letter, about."""


def text(label: str, said: str) -> str:
    """Return a badge with a label and what it says."""
    left, right = round(len(label) * LETTER) + 12, round(len(said) * LETTER) + 12
    width = left + right
    style = 'font-family="system-ui, sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">'
        f"<title>{label}: {said}</title>"
        f'<rect width="{width}" height="20" rx="3" fill="#4a5560"/>'
        f'<rect x="{left}" width="{right}" height="20" rx="3" fill="#3b6fb6"/>'
        f'<g {style}><text x="{left / 2:.1f}" y="14">{label}</text>'
        f'<text x="{left + right / 2:.1f}" y="14">{said}</text></g></svg>\n'
    )


def pictures() -> dict[str, Callable[[], str]]:
    """Return what makes each badge, by the name of its file."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    python = project["requires-python"].removeprefix(">=")
    return {
        "badge-licence.svg": partial(text, "licence", project["license"]),
        "badge-python.svg": partial(text, "Python", f"{python} or newer"),
        "badge-kubernetes.svg": partial(text, "Kubernetes", _kubernetes()),
    }


def _kubernetes() -> str:
    """Return the versions whose API servers can be built here, the oldest and the newest."""
    modules = BINARIES.glob("kubernetes*/go.mod")
    minors = (
        re.search(r"k8s\.io/kubernetes v1\.(\d+)\.", each.read_text(), re.MULTILINE)
        for each in modules
    )
    found = sorted(int(each[1]) for each in minors if each)
    return f"1.{found[0]} to 1.{found[-1]}"
