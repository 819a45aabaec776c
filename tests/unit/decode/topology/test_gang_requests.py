"""What a PodGroup asks of the network is read, or what is wrong with it is named."""

import json
from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, topology
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.model.topology_request import LayerRef, Slices, TopologyRequest
from gang_scheduler.wire.pods import NativePodGroup, SchedulingConstraints, TopologyConstraint

KEY = "gang.scheduling.koordinator.sh/network-topology-spec"
FIELD = f"metadata.annotations[{KEY}]"
NATIVE = "spec.schedulingConstraints"


def rule(layer: Any = "SpineLayer", strategy: Any = "MustGather", **others: Any) -> dict[str, Any]:
    return {"layer": layer, "strategy": strategy, **others}


def multiple(count: Any, layer: str = "SpineLayer", strategy: str = "MustGather") -> dict[str, Any]:
    return rule(layer, strategy, podCountMultiple=count)


def read(spec: Any) -> TopologyRequest | None:
    text = spec if isinstance(spec, str) else json.dumps(spec)
    return topology.network_topology_spec({KEY: text})


def asked(*rules: Any) -> TopologyRequest:
    found = read({"gatherStrategy": list(rules)})
    assert found is not None
    return found


def error_of(spec: Any) -> str:
    with pytest.raises(InvalidField) as caught:
        read(spec)
    return str(caught.value)


def layers(*names: str) -> tuple[LayerRef, ...]:
    return tuple(LayerRef(name) for name in names)


# From the case pod-count-multiple-parse of the conformance data (Koordinator, Apache-2.0).
MULTIPLES: list[tuple[Any, dict[str, int] | None]] = [
    (None, None),
    ([], None),
    ([rule()], None),
    ([multiple(1)], None),
    ([multiple(0)], None),
    ([multiple(8, "BlockLayer", "PreferGather")], {"BlockLayer": 8}),
    (
        [
            multiple(16),
            multiple(8, "BlockLayer", "PreferGather"),
            multiple(4, "NodeTopologyLayer", "PreferGather"),
        ],
        {"SpineLayer": 16, "BlockLayer": 8, "NodeTopologyLayer": 4},
    ),
]


@pytest.mark.parametrize(("rules", "expected"), MULTIPLES)
def test_pod_count_multiple_parse(rules: Any, expected: dict[str, int] | None) -> None:
    found = read({"gatherStrategy": rules})

    slices = found.slices if found else ()
    assert expected == ({each.layer.name: each.size for each in slices} or None)
    assert all(each.whole and not each.layer.by_label for each in slices)


@pytest.mark.parametrize("count", [None, -1, -(2**31) + 1])
def test_a_multiple_of_less_than_one_or_null_means_none(count: Any) -> None:
    assert () == asked(multiple(count)).slices


def test_rules_are_read() -> None:
    found = asked(rule(), rule("BlockLayer", "PreferGather"), multiple(4, "Rack", "PreferGather"))

    expected = TopologyRequest(
        must=layers("SpineLayer"),
        prefer=layers("BlockLayer", "Rack"),
        slices=(Slices(LayerRef("Rack"), 4, whole=True),),
    )
    assert (expected, FIELD) == (found, found.where)


def test_the_order_of_the_list_means_nothing() -> None:
    rules = [rule(), rule("BlockLayer"), multiple(2, "A", "PreferGather"), multiple(4, "B")]

    assert asked(*rules) == asked(*reversed(rules))


@pytest.mark.parametrize("spec", [{}, {"gatherStrategy": None}, {"gatherStrategy": []}])
def test_no_rules_ask_for_nothing(spec: Any) -> None:
    assert read(spec) is None


def test_without_the_annotation_nothing_is_asked() -> None:
    assert topology.network_topology_spec({"other": "x"}) is None


def test_layer_names_are_taken_as_they_are_written() -> None:
    assert layers(" spineLayer", "层-é") == asked(rule("层-é"), rule(" spineLayer")).must


@pytest.mark.parametrize("text", ["", "x", "{", '{"gatherStrategy": [],}', "[" * 100_000])
def test_what_is_no_json_is_named(text: str) -> None:
    assert error_of(text).startswith(f"{FIELD} must be JSON, not ")


@pytest.mark.parametrize(
    ("spec", "path", "problem"),
    [
        ("[]", "", "must be an object, not []"),
        ("null", "", "is required"),
        ("3", "", "must be an object, not 3"),
        ({"gather": []}, "", 'must have no fields but gatherStrategy, not "gather"'),
        ({"gatherStrategy": {}}, ".gatherStrategy", "must be a list, not {}"),
        ({"gatherStrategy": "x"}, ".gatherStrategy", 'must be a list, not "x"'),
        (
            {"gatherStrategy": [rule(f"L{i}") for i in range(33)]},
            ".gatherStrategy",
            "must have at most 32 entries, not 33",
        ),
    ],
)
def test_what_is_no_spec_is_named(spec: Any, path: str, problem: str) -> None:
    assert f"{FIELD}{path} {problem}" == error_of(spec)


@pytest.mark.parametrize(
    ("entry", "path", "problem"),
    [
        ("SpineLayer", "", 'must be an object, not "SpineLayer"'),
        (None, "", "is required"),
        ([[[[]]]], "", "must be an object, not [[[[]]]]"),
        ({"strategy": "MustGather"}, ".layer", "is required"),
        (rule(layer=None), ".layer", "is required"),
        (rule(layer=""), ".layer", "must not be empty"),
        (rule(layer=3), ".layer", "must be a string, not 3"),
        (
            rule("Rack", layer_="x"),
            "",
            'must have no fields but layer and strategy and podCountMultiple, not "layer_"',
        ),
        ({"layer": "Rack"}, ".strategy", "is required"),
        (
            rule("Rack", "mustGather"),
            ".strategy",
            'must be MustGather or PreferGather, not "mustGather"',
        ),
        (rule("Rack", ""), ".strategy", "must not be empty"),
        (rule("Rack", ["MustGather"]), ".strategy", 'must be a string, not ["MustGather"]'),
        (multiple("8", "Rack"), ".podCountMultiple", 'must be a whole number, not "8"'),
        (multiple(2.5, "Rack"), ".podCountMultiple", "must be a whole number, not 2.5"),
        (multiple(True, "Rack"), ".podCountMultiple", "must be a whole number, not true"),  # noqa: FBT003 - a value of JSON.
        (multiple([8], "Rack"), ".podCountMultiple", "must be a whole number, not [8]"),
        (
            multiple(10**15, "Rack"),
            ".podCountMultiple",
            "must be at most 2147483647, not 1000000000000000",
        ),
        (rule(), ".layer", 'must be listed once, not "SpineLayer"'),
        (rule(strategy="PreferGather"), ".layer", 'must be listed once, not "SpineLayer"'),
    ],
)
def test_what_is_wrong_with_a_rule_is_named(entry: Any, path: str, problem: str) -> None:
    expected = f"{FIELD}.gatherStrategy[1]{path} {problem}"

    assert expected == error_of({"gatherStrategy": [rule(), entry]})


def test_all_that_is_wrong_with_the_rules_is_said_at_once() -> None:
    rules = [rule("", "x", podCountMultiple="8"), rule(), rule(Rack=1), 3]

    found = error_of({"gatherStrategy": rules, "gather": 1}).split("; ")

    paths = ["", *(f".gatherStrategy[0].{name}" for name in ("layer", "strategy"))]
    wrong = ("[0].podCountMultiple", "[2]", "[2].layer", "[3]")
    paths += [f".gatherStrategy{each}" for each in wrong]
    assert [f"{FIELD}{path}" for path in paths] == [each.split(" must ")[0] for each in found]


def test_a_field_that_is_there_twice_is_named() -> None:
    twice = '{"gatherStrategy": [{"layer": "A", "strategy": "MustGather", "layer": "B"}]}'

    assert f'{FIELD} must not have a field twice (it has "layer" twice)' == error_of(twice)


def test_messages_are_of_bounded_length() -> None:
    long = "x" * 100_000

    found = [error_of(long), error_of({long: 1}), error_of({"gatherStrategy": [rule(long)]})]

    assert all(len(each) < 400 for each in found)


# Native PodGroups.


def native(*keys: str) -> TopologyRequest | None:
    constraints = [TopologyConstraint(key) for key in keys]
    return pod_groups.native_constraint(SchedulingConstraints(constraints))


def test_all_keys_of_a_native_constraint_must_hold() -> None:
    found = native("example.com/rack", "example.com/row", "example.com/rack")

    keys = ("example.com/rack", "example.com/row")
    assert TopologyRequest(must=tuple(LayerRef(key, by_label=True) for key in keys)) == found
    assert f"{NATIVE}.topology[0].key" == found.where


def test_all_keys_that_no_node_label_can_have_are_said_at_once() -> None:
    with pytest.raises(InvalidField) as caught:
        native("a b", "example.com/rack", "/rack")

    assert [f"{NATIVE}.topology[{i}].key" for i in (0, 2)] == [
        each.split(" must ")[0] for each in str(caught.value).split("; ")
    ]


def test_no_native_constraint_asks_for_nothing() -> None:
    assert native() is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        "a b",
        "/rack",
        "example.com/",
        "a/b/c",
        "-rack",
        "rack-",
        "rack\n",
        "层",
        "\udc80",
        "Example.com/rack",
        "x" * 64,
        "a" * 254 + "/x",
    ],
)
def test_a_key_that_no_node_label_can_have_is_named(key: str) -> None:
    with pytest.raises(InvalidField) as caught:
        native("rack", key)

    assert (f"{NATIVE}.topology[1].key", key) == (caught.value.field, caught.value.value)


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ({}, []),
        ({"topology": None, "other": None, "more": []}, []),
        ({"topology": [{"key": "rack", "mode": ""}]}, []),
        ({"other": [1], "topology": [{"key": "rack"}]}, ["other"]),
        (
            {"topology": [{"key": "rack", "mode": "x"}, {"key": "row"}], "other": 1},
            ["other", "topology[0].mode"],
        ),
    ],
)
def test_what_else_a_native_constraint_says_is_listed(
    constraints: dict[str, Any], expected: list[str]
) -> None:
    found = pod_groups.unknown_constraints(constraints)

    assert [f"{NATIVE}.{each}" for each in expected] == list(found)


def test_a_native_constraint_of_another_shape_is_named() -> None:
    body = {"metadata": {}, "spec": {"schedulingConstraints": {"topology": [{"key": 3}]}}}

    with pytest.raises(InvalidField) as caught:
        fields.read(body, NativePodGroup)

    assert f"{NATIVE}.topology[0].key must be a string, not 3" == str(caught.value)
