"""The packages and their unit tests have the same folders, and every test names what it is of.

Where a module is covered by tests of another name, `covered_elsewhere.yaml` says which these are.
"""

from pathlib import Path

from lint import trees
from lint.trees import PROJECT
from support import yaml_texts

TESTS = PROJECT / "tests"
UNIT = TESTS / "unit"
ELSEWHERE: dict[str, list[str]] = yaml_texts.read((UNIT / "covered_elsewhere.yaml").read_text())
OF_NO_MODULE = {
    "cli/test_modules_imported.py",
    "decode/pods/test_conformance_tables.py",
    "gang_auditor/test_memory.py",
    "scheduler/filters/test_node_states.py",
    "scheduler/placement/test_strategies.py",
    "scheduler/preemption/test_device_claims.py",
    "scheduler/preemption/test_pod_affinity.py",
    "scheduler/test_costs.py",
    "scheduler/turns/test_bound_of_a_cycle.py",
    "scheduler/turns/test_costs.py",
    "test_chart.py",
    "test_chart_monitoring.py",
    "test_chart_rendered.py",
    "test_docs.py",
    "test_example_names.py",
    "test_job_manifests.py",
    "test_pytorch_example.py",
    "test_training_examples.py",
}
"""Tests of several modules at once, or of what is no module."""


def modules() -> list[Path]:
    """Return the modules that have code to be tested, by their `place`."""
    found = map(trees.place, trees.modules())
    return sorted(path for path in found if not path.stem.startswith("__"))


def files_of_tests() -> list[Path]:
    """Return the unit tests of the package, relative to their folder."""
    found = (path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))
    return sorted(path for path in found if path.parts[0] not in {"support", "tools"})


def has_its_own_test(module: Path) -> bool:
    """Return whether there is a test file of a module's name, or a folder of them."""
    folder = UNIT / module.parent
    return (folder / f"test_{module.stem}.py").is_file() or (folder / module.stem).is_dir()


def names_a_module(test: Path) -> bool:
    """Return whether a test has the name of a module, or is in a folder that has it."""
    of_its_own = test.parent / test.name.removeprefix("test_")
    places = (of_its_own, Path(f"{test.parent}.py"))
    return any(trees.module_at(each).is_file() for each in places)


def test_every_module_is_found_by_its_name_or_in_the_list() -> None:
    lost = [str(each) for each in modules() if not has_its_own_test(each)]

    assert [] == [each for each in lost if each not in ELSEWHERE]


def test_every_test_names_its_module_or_is_of_none() -> None:
    nameless = {str(each) for each in files_of_tests() if not names_a_module(each)}

    assert nameless == OF_NO_MODULE


def test_the_list_has_no_module_that_is_gone_or_has_its_own_test() -> None:
    needed = {str(each) for each in modules() if not has_its_own_test(each)}

    assert [] == [each for each in ELSEWHERE if each not in needed]


def test_the_list_names_tests_that_are_there() -> None:
    named = {test for tests in ELSEWHERE.values() for test in tests}

    assert [] == sorted(each for each in named if not (TESTS / each).is_file())
    assert [] == [module for module, tests in ELSEWHERE.items() if not tests]
