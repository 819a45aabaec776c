"""A word is told once: no enum has the members of another.

A field that takes some of the words of an enum says so by `api.pod_group.OneOf`.
"""

import ast
import itertools

import pytest

from lint import trees
from lint.trees import PACKAGE


def bases(node: ast.ClassDef) -> set[str]:
    """Return the last names of the bases of a class."""
    return {ast.unparse(each).rpartition(".")[2] for each in node.bases}


def member(assigned: ast.Assign) -> str:
    """Return the word that a member stands for, or its name where it stands for none."""
    value = assigned.value
    is_word = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return ast.unparse(value if is_word else assigned.targets[0])


def enums() -> dict[str, frozenset[str]]:
    """Return the members of each enum of the package, by its place."""
    return {
        f"{trees.place(path)}: {node.name}": frozenset(
            member(each) for each in node.body if isinstance(each, ast.Assign)
        )
        for path in trees.modules()
        for node in trees.nodes(path)
        if isinstance(node, ast.ClassDef) and bases(node) & {"Enum", "IntEnum", "StrEnum"}
    }


def test_no_enum_has_the_members_of_another() -> None:
    found = enums()

    assert "model/api_words.py: Fairness" in found
    assert [] == [
        (one, other)
        for (one, few), (other, more) in itertools.permutations(found.items(), 2)
        if few <= more
    ]


@pytest.mark.parametrize("name", ["api_words", "wording"])
def test_what_the_api_shares_with_the_core_needs_nothing_else(name: str) -> None:
    found = trees.nodes(PACKAGE / "model" / f"{name}.py")
    imported = [each for each in found if isinstance(each, ast.Import | ast.ImportFrom)]

    assert imported
    assert [] == [ast.unparse(each) for each in imported if "gang_scheduler" in ast.unparse(each)]
