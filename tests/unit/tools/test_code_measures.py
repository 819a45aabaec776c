"""The measures of the code, on modules made for it and on the package itself."""

from pathlib import Path

from tools.code_measures import Module, circles, modules, report, storeys


def module(name: str, *imports: str) -> Module:
    return Module(name, Path(name), 10, (1,), frozenset(imports))


def test_storeys_are_the_longest_chain_of_imports() -> None:
    found = [module("a", "b", "c"), module("b", "c"), module("c", "elsewhere")]

    assert 3 == storeys(found)


def test_modules_that_import_each_other_are_a_circle_and_one_storey() -> None:
    found = [module("a", "b"), module("b", "c"), module("c", "b"), module("d")]

    assert [frozenset({"b", "c"})] == circles(found)
    assert 2 == storeys(found)


def test_the_package_is_measured_whole() -> None:
    found = modules()

    assert f"| all | {len(found)} | " in report(found)
