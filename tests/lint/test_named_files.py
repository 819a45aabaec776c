"""The files and modules that docs for contributors and docstrings name: each of them is there."""

import re

import pytest

from lint import trees
from lint.trees import OPERATOR, PACKAGE, PROJECT

FILE = re.compile(r"`([\w-]+(?:/[\w.-]+)*/[\w-]+\.(?:py|js|html|yaml))`")
ROOTS = (PROJECT, OPERATOR, PACKAGE, PACKAGE / "page", PROJECT / "tests" / "monitoring")
EXAMPLES = {"scheduler/filters/gpu_memory.py", "cli/NAME.py", "cli/answers/NAME.py"}
"""Files that a contributor would add, or whose name stands for many."""
PACKAGES = "|".join(sorted(each.name for each in PACKAGE.iterdir() if each.is_dir()))
MODULE = re.compile(rf"`((?:{PACKAGES})(?:\.[a-z_]+)+)`")
FIELDS = {"state.phase"}
"""Paths of fields that look like modules."""


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/development.md"])
def test_every_file_that_is_named_is_there(name: str) -> None:
    named = set(FILE.findall((PROJECT / name).read_text())) - EXAMPLES

    assert named
    assert [] == sorted(each for each in named if not any((root / each).exists() for root in ROOTS))


def test_every_module_that_is_named_is_there() -> None:
    named = {
        (found, str(trees.place(path)))
        for path in trees.modules()
        for found in MODULE.findall(path.read_text())
        if found not in FIELDS
    }

    assert named
    assert [] == sorted(each for each in named if not _is_there(each[0]))


def _is_there(name: str) -> bool:
    """Return whether a dotted name is a module or a package, or a name in the module before it."""
    path = PACKAGE.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    above = path.parent.with_suffix(".py")
    source = above if above.is_file() else path.parent / "__init__.py"
    return source.is_file() and re.search(rf"\b{path.name}\b", source.read_text()) is not None
