"""The files and modules that docs for contributors and docstrings name: each of them is there."""

import ast
import re
from pathlib import Path

import pytest

from lint import trees
from lint.trees import OPERATOR, PACKAGE, PROJECT

FILE = re.compile(r"`([\w-]+(?:/[\w.-]+)*/[\w-]+\.(?:py|js|html|yaml))`")
PLAIN = re.compile(r"`(\w+\.py)`")
ROOTS = (PROJECT, OPERATOR, PACKAGE, PACKAGE / "page", PROJECT / "tests" / "monitoring")
EXAMPLES = {"scheduler/filters/gpu_memory.py", "cli/NAME.py", "cli/answers/NAME.py"}
"""Files that a contributor would add, or whose name stands for many."""
PLACE = re.compile(r"`(\w+(?:/\w+)+)`")
PACKAGES = "|".join(sorted(each.name for each in PACKAGE.iterdir() if each.is_dir()))
MODULE = re.compile(rf"`((?:{PACKAGES})(?:\.[a-z_]+)+)`")
FIELDS = {"state.phase"}
"""Paths of fields that look like modules."""
WORD = re.compile(r"`([a-z][a-z_./]*)`")
NO_MODULES = {
    *("kubernetes", "kubernetes.json", "problem", "resource.k8s.io", "run", "simulate", "text"),
}
"""What docstrings of packages name besides modules: fields, commands, and names of others."""


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/development.md"])
def test_every_file_that_is_named_is_there(name: str) -> None:
    named = set(FILE.findall((PROJECT / name).read_text())) - EXAMPLES

    assert named
    assert [] == sorted(each for each in named if not any((root / each).exists() for root in ROOTS))


def test_every_module_that_the_glossary_names_is_there() -> None:
    named = set(PLACE.findall((PROJECT / "docs" / "glossary.md").read_text()))

    assert named
    assert [] == sorted(each for each in named if not _is_there(each.replace("/", ".")))


def test_every_file_that_is_named_without_its_folder_is_there() -> None:
    named = set(PLAIN.findall((PROJECT / "CONTRIBUTING.md").read_text()))
    there = {path.name for path in trees.modules()}

    assert named
    assert [] == sorted(named - there)


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


def test_every_module_that_a_package_names_is_there() -> None:
    packages = [path.parent for path in OPERATOR.rglob("__init__.py")]
    named = [
        (name, str(package.relative_to(OPERATOR)))
        for package in packages
        for name in WORD.findall(ast.get_docstring(trees.of(package / "__init__.py")) or "")
        if name not in NO_MODULES
    ]

    assert named
    assert [] == [(name, at) for name, at in named if not _is_near(name, OPERATOR / at)]


def _is_near(name: str, package: Path) -> bool:
    """Return whether a name is a module or package of a package, or of the top."""
    path = name.replace(".", "/")
    return any(
        (root / path).is_dir() or (root / f"{path}.py").is_file()
        for root in (package, package.parent, OPERATOR, PACKAGE)
    )
