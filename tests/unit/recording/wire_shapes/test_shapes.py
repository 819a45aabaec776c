"""What is read of a value follows from the types that it is read into."""

from typing import Any

from msgspec import field

from gang_scheduler.api.pod_group import PodGroupSpec
from gang_scheduler.recording import wire_shapes
from gang_scheduler.recording.wire_shapes import pruned
from gang_scheduler.wire.base import Count, Wire


class _Inner(Wire, frozen=True):
    host_ip: str = field(default="", name="hostIP")
    count: Count = 0


class _Outer(Wire, frozen=True):
    inner: _Inner | None = None
    items: list[_Inner] = field(default_factory=list)
    named: dict[str, _Inner] = field(default_factory=dict)
    there: dict[str, Any] | None = None
    word: _Inner | str = ""


SHAPE = wire_shapes.shape_of(_Outer)


def test_only_fields_that_are_read_are_left() -> None:
    body = {"inner": {"hostIP": "::", "env": ["secret"]}, "secret": 1, "items": [{"x": 1}]}

    assert {"inner": {"hostIP": "::"}, "items": [{}]} == pruned(body, SHAPE)


def test_maps_keep_their_keys() -> None:
    assert {"named": {"a": {"count": 2}}} == pruned({"named": {"a": {"count": 2, "x": 1}}}, SHAPE)


def test_of_what_is_only_looked_for_nothing_is_left_but_that_it_is_there() -> None:
    assert {"there": {}} == pruned({"there": {"a": "secret"}}, SHAPE)


def test_a_field_of_two_types_keeps_either() -> None:
    assert {"word": "w"} == pruned({"word": "w"}, SHAPE)
    assert {"word": {"count": 1}} == pruned({"word": {"count": 1, "x": 1}}, SHAPE)


def test_nulls_are_left_out() -> None:
    assert {} == pruned({"inner": None}, SHAPE)


def test_what_has_the_wrong_type_is_wrong_still_and_says_nothing() -> None:
    body = {"inner": "secret", "items": {"a": 1}, "named": [1], "there": True}

    assert {"inner": "", "items": {}, "named": [], "there": False} == pruned(body, SHAPE)


def test_models_of_the_api_have_shapes_too() -> None:
    body = {"minMember": 3, "minResources": {"cpu": 1}, "secret": 1}

    assert {"minMember": 3, "minResources": {"cpu": 1}} == pruned(
        body, wire_shapes.shape_of(PodGroupSpec)
    )


def test_a_shape_is_changed_at_a_path() -> None:
    hidden = wire_shapes.changed(SHAPE, "items[].hostIP", lambda _: wire_shapes.PRESENCE)

    body = {"items": [{"hostIP": "::", "count": 1}]}
    assert {"items": [{"hostIP": "", "count": 1}]} == pruned(body, hidden)
