"""Where modules lie, how many and how long they are, and that each package says where to begin.

operator/ is a source root whose name is also a module of the standard library: an `__init__.py` or
a loose module in it would make `import operator` find the wrong one, and the interpreter would then
fail far away from the cause.
"""

import ast
import operator
import re
import sysconfig
from pathlib import Path

from lint import trees
from tools import code_measures

SOURCE_ROOT = trees.PROJECT / "operator"
MOST_MODULES = 596
LONGEST_FILE = 600
LONGEST_CHAIN = 47
"""Modules of the longest chain of imports."""


def test_the_source_root_is_no_package_and_holds_no_loose_module() -> None:
    assert [] == sorted(path.name for path in SOURCE_ROOT.glob("*.py*"))


def test_the_packages_are_the_scheduler_and_its_auditor() -> None:
    packages = sorted(path.parent.name for path in SOURCE_ROOT.glob("*/__init__.py"))

    assert ["gang_auditor", "gang_scheduler"] == packages


def test_operator_is_the_one_of_the_standard_library() -> None:
    assert Path(sysconfig.get_path("stdlib")) == Path(operator.__file__).parent


def first_file(package: Path) -> str | None:
    """Return the module that the docstring of a package says to open first."""
    docstring = ast.get_docstring(trees.of(package / "__init__.py")) or ""
    found = re.search(r"[Oo]pen\s+`([\w/]+)`", docstring)
    return found and found[1]


def test_a_package_says_which_of_its_files_to_open_first() -> None:
    packages = [path.parent for path in SOURCE_ROOT.rglob("__init__.py")]
    below_the_top = [each for each in packages if each.name != "gang_scheduler"]

    assert [] == [
        str(each.relative_to(SOURCE_ROOT))
        for each in below_the_top
        if not (each / f"{first_file(each)}.py").is_file()
    ]


def test_the_tree_is_neither_cut_too_finely_nor_too_coarsely() -> None:
    found = [each for each in code_measures.modules() if each.path.name != "__init__.py"]

    assert MOST_MODULES >= len(found)
    assert [] == [each.name for each in found if each.lines > LONGEST_FILE]


def test_chains_of_imports_are_short_and_none_is_a_circle() -> None:
    found = code_measures.modules()

    assert LONGEST_CHAIN >= code_measures.storeys(found)
    assert [] == code_measures.circles(found)
