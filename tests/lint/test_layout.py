"""Where modules lie, and that each package names them.

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

SOURCE_ROOT = trees.PROJECT / "operator"


def test_the_source_root_is_no_package_and_holds_no_loose_module() -> None:
    assert [] == sorted(path.name for path in SOURCE_ROOT.glob("*.py*"))


def test_the_only_package_is_ours() -> None:
    packages = sorted(path.parent.name for path in SOURCE_ROOT.glob("*/__init__.py"))

    assert ["gang_scheduler"] == packages


def test_operator_is_the_one_of_the_standard_library() -> None:
    assert Path(sysconfig.get_path("stdlib")) == Path(operator.__file__).parent


def unnamed(package: Path) -> list[str]:
    """Return the modules and packages in a package that its docstring does not name."""
    docstring = ast.get_docstring(trees.of(package / "__init__.py")) or ""
    named = set(re.findall(r"\w+", docstring))
    parts = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    return sorted(part for part in parts - named if not part.startswith("__"))


def test_a_package_names_all_of_its_modules_in_its_docstring() -> None:
    packages = [path.parent for path in SOURCE_ROOT.rglob("__init__.py")]

    assert {} == {str(each): found for each in packages if (found := unnamed(each))}
