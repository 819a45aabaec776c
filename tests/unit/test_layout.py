"""operator/ is a source root whose name is also a module of the standard library.

An `__init__.py` or a loose module in it would make `import operator` find the wrong one, and the
interpreter would then fail far away from the cause.
"""

import operator
import sysconfig
from pathlib import Path

SOURCE_ROOT = Path(__file__).parents[2] / "operator"


def test_the_source_root_is_no_package_and_holds_no_loose_module() -> None:
    assert [] == sorted(path.name for path in SOURCE_ROOT.glob("*.py*"))


def test_the_only_package_is_ours() -> None:
    packages = sorted(path.parent.name for path in SOURCE_ROOT.glob("*/__init__.py"))

    assert ["gang_scheduler"] == packages


def test_operator_is_the_one_of_the_standard_library() -> None:
    assert Path(sysconfig.get_path("stdlib")) == Path(operator.__file__).parent
