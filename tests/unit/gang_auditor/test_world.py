"""Versions of objects within the last minutes."""

from gang_auditor.world import Versions


def test_all_versions_of_a_time_are_found() -> None:
    versions: Versions[str] = Versions(100)
    for at, version in ((10, "a"), (20, "b"), (30, "c")):
        versions.put("x", version, at)

    assert ["a"] == versions.between("x", 12, 18)
    assert ["a", "b"] == versions.between("x", 12, 20)
    assert ["b", "c"] == versions.between("x", 21, 99)
    assert [None, "a"] == versions.between("x", 5, 15)
    assert [None] == versions.between("x", 1, 5) == versions.between("y", 1, 5)
    assert "c" == versions.latest("x")


def test_an_object_that_is_gone_is_none_from_then_on() -> None:
    versions: Versions[str] = Versions(100)
    versions.put("x", "a", 10)
    versions.put("x", None, 20)

    assert ["a", None] == versions.between("x", 15, 25)
    assert None is versions.latest("x")
    assert [] == list(versions)


def test_what_was_replaced_long_ago_is_forgotten() -> None:
    versions: Versions[str] = Versions(100)
    for at, version in ((0, "a"), (50, "b"), (200, "c")):
        versions.put("x", version, at)

    assert ["b"] == versions.between("x", 100, 150)
    assert [None, "b"] == versions.between("x", 10, 60)


def test_what_was_replaced_is_forgotten_whatever_changes_next() -> None:
    versions: Versions[str] = Versions(100)
    for at, version in ((0, "a"), (10, "b")):
        versions.put("x", version, at)
    versions.put("other", "c", 200)

    assert [None, "b"] == versions.between("x", 5, 50)
