"""A kind of job is told once: in its own file of `workloads/`, and by its row."""

import ast
from collections.abc import Iterator
from typing import Final

from gang_scheduler.model.api_words import ELASTIC_KINDS, GangKind, ManagedKind
from gang_scheduler.workloads import table
from lint import trees

OF_KUBERNETES: Final = {"batch", "apps"}
"""Groups of kinds that all of the scheduler may know. Other kinds are built of these."""
SHARED: Final = {"PodGroup", "JobSet", "Job"}
"""Names of gangs that the model knows, and names that kinds of Kubernetes itself have, too."""
ELSEWHERE: Final = {
    "model/api_words.py": "a setting takes the name as a word; see the test below",
    "decode/foreign_marks.py": "the name of a product whose marks are read or refused",
}


def names() -> set[str]:
    """Return the names of all kinds of other products, and those of their CRDs."""
    rows = [
        each for each in table.KINDS if not OF_KUBERNETES & {gvr.group for gvr in each.versions}
    ]
    crds = {gvr.name for each in rows for gvr in each.versions}
    return {each.name for each in rows} - SHARED | crds


def texts(tree: ast.Module) -> Iterator[str]:
    """Yield all strings of a module but its docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


def test_a_kind_of_job_is_named_in_its_own_file_alone() -> None:
    known = names()
    told: dict[str, set[str]] = {}
    # The auditor knows the kinds by itself, so that it makes no mistake of the scheduler.
    for path in sorted(trees.PACKAGE.rglob("*.py")):
        place = trees.place(path).as_posix()
        for text in known.intersection(texts(trees.of(path))) if place not in ELSEWHERE else ():
            told.setdefault(text, set()).add(place)

    assert {} == {
        text: places
        for text, places in told.items()
        if len(places) > 1 or not all(each.startswith("workloads/") for each in places)
    }
    assert {"SparkApplication", "LeaderWorkerSet", "RayJob", "MPIJob"} <= told.keys()


def test_settings_name_the_kinds_that_their_rows_say() -> None:
    assert set(table.BY_DEFAULT) == set(GangKind)
    assert set(table.SUSPENDABLE) == set(ManagedKind)
    assert set(table.BY_REPLICAS) == set(ELASTIC_KINDS)


def test_each_kind_has_one_row_and_each_watched_one_what_a_snapshot_needs() -> None:
    keys = [each.key for each in table.KINDS if each.versions]

    assert len(keys) == len(set(keys))
    assert [] == [each.name for each in table.WATCHED if each.struct is None or not each.versions]
