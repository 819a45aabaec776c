"""The package and its unit tests have the same folders, and every module is found in a test's name.

Where a module is covered by tests of another name, `covered_elsewhere.yaml` says which these are.
"""

from pathlib import Path

import yaml

UNIT = Path(__file__).parent
TESTS = UNIT.parent
PACKAGE = TESTS.parent / "operator" / "gang_scheduler"
ELSEWHERE: dict[str, list[str]] = yaml.safe_load((UNIT / "covered_elsewhere.yaml").read_text())


def modules() -> list[Path]:
    """Return the modules that have code to be tested, relative to the package."""
    found = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in found if not path.stem.startswith("__"))


def has_its_own_test(module: Path) -> bool:
    """Tell whether there is a test file of a module's name, or a folder of them."""
    folder = UNIT / module.parent
    return (folder / f"test_{module.stem}.py").is_file() or (folder / module.stem).is_dir()


def test_every_module_is_found_by_its_name_or_in_the_list() -> None:
    lost = [str(each) for each in modules() if not has_its_own_test(each)]

    assert [] == [each for each in lost if each not in ELSEWHERE]


def test_the_list_has_no_module_that_is_gone_or_has_its_own_test() -> None:
    needed = {str(each) for each in modules() if not has_its_own_test(each)}

    assert [] == [each for each in ELSEWHERE if each not in needed]


def test_the_list_names_tests_that_are_there() -> None:
    named = {test for tests in ELSEWHERE.values() for test in tests}

    assert [] == sorted(each for each in named if not (TESTS / each).is_file())
    assert [] == [module for module, tests in ELSEWHERE.items() if not tests]
