"""What follows from a reason is told in one table: no other can lack a new one.

A set of reasons that is written out elsewhere is right on the day on which it is written.
"""

import ast
from collections.abc import Iterator

import pytest

from lint import trees
from lint.trees import PACKAGE

TABLE = PACKAGE / "model" / "reasons.py"


def members(node: ast.AST) -> set[str]:
    """Return the reasons that an expression names, however deep."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "Reason"
    }


def listed(node: ast.AST) -> set[str]:
    """Return the reasons that are elements of a collection, keys of a table or cases of a match."""
    match node:
        case ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return {
                name for part in parts if isinstance(part, ast.Attribute) for name in members(part)
            }
        case ast.Dict(keys=keys):
            return {name for key in keys if isinstance(key, ast.Attribute) for name in members(key)}
        case ast.MatchOr(patterns=patterns):
            return {name for each in patterns for name in members(each)}
    return set()


def lists(tree: ast.Module) -> Iterator[str]:
    """Yield where a module lists several reasons, and the constants that list one."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if any(map(listed, ast.walk(node.value))):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield " ".join(ast.unparse(each) for each in targets)
    for each in ast.walk(tree):
        if len(listed(each)) > 1:
            yield f"line {getattr(each, 'lineno', 0)}"


def found() -> list[str]:
    """Return all lists of reasons but the one table."""
    return [
        f"{trees.place(path)}: {where}"
        for path in trees.modules()
        if path != TABLE
        for where in lists(trees.of(path))
    ]


def test_reasons_are_listed_in_one_table() -> None:
    assert [] == found()


@pytest.mark.parametrize(
    "code",
    [
        "BLOCKING = frozenset({Reason.A, Reason.B})",
        "HELPED: Final = OTHERS | {Reason.A}",
        "NAMED = {Reason.A: 'A', Reason.B: 'B'}",
        "def blocks(why): return why in (Reason.A, Reason.B)",
        "match why:\n    case Reason.A | Reason.B:\n        wait()",
    ],
)
def test_a_list_of_reasons_is_found(code: str) -> None:
    assert [] != list(lists(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "BLOCKING = those_with(lambda rule: rule.strict is Strict.HOLDS_UP)",
        "def blocks(why): return why is Reason.A",
        "def problem(): return Problem(Reason.A, Reason.B)",
    ],
)
def test_what_reads_the_table_lists_none(code: str) -> None:
    assert [] == list(lists(ast.parse(code)))
