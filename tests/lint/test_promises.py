"""What docs promise, and the tests that are said to hold it: each of them is there."""

import ast
import re
from pathlib import Path

import pytest

from gang_scheduler.api import annotations
from lint import trees
from lint.trees import PROJECT

NAMED = re.compile(r"`(tests/[a-z_0-9/]+\.py)::(test_[a-z_0-9]+)`")
ROW = re.compile(r"^\| (?!what \||promise \||---)(.+?) \|", re.MULTILINE)


def page(name: str) -> str:
    return (PROJECT / "docs" / name).read_text()


def names_in(path: Path) -> set[str]:
    """Return the names of the tests in a file."""
    found = trees.nodes(path)
    return {each.name for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("name", ["promises.md", "security.md"])
def test_every_test_that_is_named_is_there(name: str) -> None:
    named = NAMED.findall(page(name))

    assert named
    for path, test in named:
        assert (PROJECT / path).is_file(), path
        assert test in names_in(PROJECT / path), f"{path}::{test}"


@pytest.mark.parametrize("name", ["promises.md", "security.md"])
def test_every_row_names_a_test(name: str) -> None:
    rows = [line for line in page(name).splitlines() if ROW.match(line)]

    assert [] == [row for row in rows if not NAMED.search(row)]


def test_every_key_of_a_label_or_annotation_has_a_row() -> None:
    said = {name: each for name, each in vars(annotations).items() if isinstance(each, str)}
    keys = {each for name, each in said.items() if name.isupper() and not each.endswith("-")}
    (section,) = re.findall(
        r"^## Labels and annotations that are read$(.*?)^## ", page("security.md"), re.M | re.S
    )
    named = re.findall(r"`([^`]+)`", " ".join(ROW.findall(section)))

    assert keys
    assert sorted(keys) == sorted(named)
