"""A record is a dataclass: compared by its fields, with slots, and replaced as a whole."""

from dataclasses import field, fields, replace

import pytest

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.records import record, revised
from support.builders import pod

CHANGED = ("node", "assumed")


@record
class Told:
    """What is told, by name; `at` is for people alone."""

    name: str
    at: int = field(default=0, compare=False)


def test_records_are_equal_by_the_fields_that_count() -> None:
    assert Told("a", at=1) == Told("a", at=2)
    assert Told("a") != Told("b")


def test_a_record_has_no_other_fields_than_its_own() -> None:
    with pytest.raises(AttributeError):
        object.__setattr__(Told("a"), "other", 1)


def test_a_pod_is_replaced_and_stays_what_it_was() -> None:
    before = pod("a")

    after = replace(before, node="n1")

    assert isinstance(after, Pod)
    assert ("", "n1") == (before.node, after.node)


def test_a_record_is_no_key_since_it_may_hold_what_is_none() -> None:
    with pytest.raises(TypeError):
        hash(Told("a"))


def test_a_revised_record_is_what_replace_makes_of_it() -> None:
    before = pod("a", node="n0", priority=7)

    after = revised(before, node="n1", assumed=True)

    assert replace(before, node="n1", assumed=True) == after
    assert [getattr(before, each.name) for each in fields(Pod) if each.name not in CHANGED] == [
        getattr(after, each.name) for each in fields(Pod) if each.name not in CHANGED
    ]
    assert "n0" == before.node
