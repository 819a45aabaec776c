"""The records of a gang change by their own methods alone: these count what changes for groups."""

import ast

from lint import trees
from lint.trees import PACKAGE

GANGS = PACKAGE / "state" / "gangs"
RECORDS = {
    "attempt",
    "observed",
    "preempted",
    "preemptor",
    "quorum_age",
    "scaling",
    "verdict",
    "version",
    "volume_waits",
}


def assigned(node: ast.AST) -> list[ast.expr]:
    """Return what a statement gives another value."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return [target]
    return []


def is_of_a_record(target: ast.expr) -> bool:
    """Return whether this is `<gang>.<record>.<field>`, or one of its entries."""
    if isinstance(target, ast.Tuple):
        return any(map(is_of_a_record, target.elts))
    if isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute):
        return False
    owner = target.value
    return isinstance(owner, ast.Attribute) and owner.attr in RECORDS


def test_no_module_assigns_a_field_of_a_record() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{target.lineno}"
        for path in trees.modules()
        for node in trees.nodes(path)
        for target in assigned(node)
        if is_of_a_record(target)
    ]

    assert [] == found


def test_gangs_are_settled_in_one_place() -> None:
    """A transition that another caller sees is lost for the gangs that wait for it."""
    callers = [
        (path.name, ast.unparse(node.func.value))
        for path in GANGS.glob("*.py")
        for node in trees.nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "settle"
    ]

    assert sorted(callers) == [
        ("gang_info.py", "self.attempt"),
        ("gang_info.py", "self.quorum_age"),
        ("grouping.py", "info"),
    ]


def test_nothing_outside_of_the_folder_settles_a_gang_or_changes_a_record() -> None:
    changing = {"settle", "spare", "take_over", "become_whole", "upsert_member", "upsert_spec"}
    changing |= {
        "related_object_changed",
        "begin",
        "end",
        "hold",
        "let_go",
        "note",
        "warn",
        "drop_warnings",
    }
    found = [
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node)}"
        for path in trees.modules()
        if GANGS not in path.parents
        for node in trees.nodes(path)
        if isinstance(node, ast.Attribute)
        and node.attr in changing
        and isinstance(node.value, ast.Attribute | ast.Name)
        and (node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id)
        in RECORDS | {"info"}
    ]

    assert [] == found
