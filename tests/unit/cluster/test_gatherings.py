"""What gangs of a group ask of the network holds for all of it, or is contradictory."""

import json
from typing import Any

import pytest

from gang_scheduler.model.gangs import GangGroup, Problem, Reason
from gang_scheduler.model.gathering import Gathering, LayerRef
from gang_scheduler.model.pods import Pod
from towns import (
    Body,
    Town,
    group_body,
    job_body,
    job_set_body,
    native_body,
    options,
    template,
)

SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
SPEC_FIELD = f"metadata.annotations[{SPEC}]"
KUEUE = "kueue.x-k8s.io/podset-"
RACK, BLOCK = Gathering(must=(LayerRef("Rack"),)), Gathering(must=(LayerRef("Block"),))
RACK_LABEL = Gathering(must=(LayerRef("example.com/rack", by_label=True),))


def must(layer: str) -> str:
    return json.dumps({"gatherStrategy": [{"layer": layer, "strategy": "MustGather"}]})


def naming(*names: str) -> str:
    return json.dumps([f"default/{name}" for name in names])


def kueue(**given: str) -> dict[str, str]:
    """Return annotations; `group_name` is written `group-name` with the prefix."""
    return {KUEUE + name.replace("_", "-"): text for name, text in given.items()}


REQUIRED = kueue(required_topology="example.com/rack")


def due(town: Town) -> dict[str, GangGroup]:
    """Return the groups that are due, by the name of their first gang."""
    groups = town.cache.snapshot(town.now).groups
    return {group.gangs[0].key.name: group for group in groups}


def only(town: Town) -> GangGroup:
    (group,) = due(town).values()
    return group


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.name for pod in pods]


def running(town: Town, gang: str, *members: str, **fields: Any) -> None:
    for name in members:
        town.pod(name, gang, spec={"nodeName": "n1"}, status={"phase": "Running"}, **fields)


def problem(message: str) -> Problem:
    return Problem(Reason.INVALID_SPEC, message)


# One gang.


def test_a_gang_has_what_its_pod_group_asks_for() -> None:
    town = Town()
    town.gang("a", 2, network_topology_spec=must("Rack"))

    group = only(town)

    assert (RACK, (), None) == (group.gathering, group.started, group.problem)


def test_an_annotation_gang_has_what_its_members_ask_for() -> None:
    town = Town()
    town.annotated("a", 2, network_topology_spec=must("Rack"))

    assert RACK == only(town).gathering


def test_of_an_annotation_gang_the_oldest_member_with_valid_annotations_speaks() -> None:
    town = Town()
    for day, spec in ((3, must("Block")), (1, "{"), (2, must("Rack"))):
        given = options({"name": "a", "min_available": 3, "network_topology_spec": spec})
        town.pod(f"a-{day}", annotations=given, creationTimestamp=f"2026-01-0{day}T00:00:00Z")

    group = only(town)

    assert (RACK, None) == (group.gathering, group.gangs[0].problem)


def test_a_native_pod_group_has_its_constraint() -> None:
    town = Town()
    constraint = {"topology": [{"key": "example.com/rack"}]}
    town.put(native_body("g", 1, schedulingConstraints=constraint))
    town.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    assert RACK_LABEL == only(town).gathering


def test_a_native_pod_group_with_a_key_that_is_none_is_invalid() -> None:
    town = Town()
    town.put(native_body("g", 1, schedulingConstraints={"topology": [{"key": "a b"}]}))
    town.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    expected = "spec.schedulingConstraints.topology[0].key must be the key of a node label"
    assert ("InvalidSpec", f'{expected}, not "a b"') == town.waits("g")


@pytest.mark.parametrize("workload", ["Job", "JobSet"])
def test_a_workload_has_what_its_template_asks_for(workload: str) -> None:
    town = Town()
    pods = template(labels={}, annotations={SPEC: must("Rack")})
    town.workload(in_workload(workload, pods))

    group = only(town)

    assert (workload, RACK) == (group.gangs[0].key.source, group.gathering)


@pytest.mark.parametrize("workload", ["Job", "JobSet"])
def test_a_workload_with_a_bad_template_is_invalid(workload: str) -> None:
    town = Town()
    town.workload(in_workload(workload, template(labels={}, annotations={SPEC: "x"})))

    (gang,) = only(town).gangs

    assert problem(f'{SPEC_FIELD} must be JSON, not "x"') == gang.problem


def in_workload(kind: str, pods: Body) -> Body:
    if kind == "Job":
        return job_body(pods=pods, parallelism=2)
    body = job_set_body("set", {"workers": (1, 2)})
    body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] = pods
    return body


def test_a_pod_without_a_gang_has_what_it_asks_for() -> None:
    town = Town()
    town.pod("p", annotations={SPEC: must("Rack")})
    town.pod("bad", annotations={SPEC: "{"})
    town.pod("plain")

    found = due(town)

    gatherings = {name: group.gathering for name, group in found.items()}
    assert {"p": RACK, "bad": None, "plain": None} == gatherings
    assert problem(f'{SPEC_FIELD} must be JSON, not "{{"') == found["bad"].gangs[0].problem


def test_a_pod_without_a_gang_that_is_replaced_asks_for_what_the_new_one_says() -> None:
    town = Town()
    town.pod("p", annotations={SPEC: must("Rack")})
    town.change("p", deletionTimestamp="2026-01-01T00:00:00Z")
    body = {**town.pods["default", "p"]}
    metadata = {"name": "p", "namespace": "default", "uid": "new"}
    town.put({**body, "metadata": {**metadata, "annotations": {SPEC: must("Block")}}})

    assert BLOCK == only(town).gathering


# Members that say something else.


@pytest.mark.parametrize("own", [must("Block"), "{", '{"gatherStrategy": []}'])
def test_a_member_with_another_spec_than_its_pod_group_is_not_ignored(own: str) -> None:
    town = Town()
    town.put(group_body("a", 1, network_topology_spec=must("Rack")))
    town.pod("a-0", "a", annotations={SPEC: own})

    expected = f"pod default/a-0: {SPEC_FIELD} must be absent, or the same as on the PodGroup"
    assert problem(expected) == only(town).gangs[0].problem


def test_a_member_with_a_spec_that_its_pod_group_does_not_have_is_not_ignored() -> None:
    town = Town()
    town.put(group_body("a", 1))
    town.pod("a-0", "a", annotations={SPEC: must("Rack")})

    assert "InvalidSpec" == town.waits("a")[0]


def test_a_member_may_repeat_what_its_pod_group_says() -> None:
    town = Town()
    town.put(group_body("a", 1, network_topology_spec=must("Rack")))
    town.pod("a-0", "a", annotations={SPEC: " " + must("Rack")})

    assert only(town).gangs[0].problem is None


@pytest.mark.parametrize("own", [REQUIRED, kueue(group_name="g")])
def test_a_gang_that_asks_in_two_ways_is_invalid(own: dict[str, str]) -> None:
    town = Town()
    town.put(group_body("a", 1, network_topology_spec=must("Rack")))
    town.pod("a-0", "a", annotations=own)

    (key,) = own
    expected = (
        f"pod default/a-0: metadata.annotations[{key}] must be absent beside {SPEC_FIELD} "
        "of its gang or group"
    )
    assert problem(expected) == only(town).gangs[0].problem


def test_a_member_that_may_be_anywhere_contradicts_nobody() -> None:
    town = Town()
    town.put(group_body("a", 1, network_topology_spec=must("Rack")))
    town.pod("a-0", "a", annotations=kueue(unconstrained_topology="true"))

    assert only(town).gangs[0].problem is None


def test_a_member_with_bad_annotations_makes_its_gang_invalid() -> None:
    town = Town()
    town.gang("a", 2)
    town.change("a-1", annotations=kueue(required_topology=""))

    where = f"metadata.annotations[{KUEUE}required-topology]"
    expected = f'pod default/a-1: {where} must be the key of a node label, not ""'
    assert ("InvalidSpec", expected) == town.waits("a")


# Groups.


def two(town: Town, a: str = "", b: str = "") -> None:
    """Add gangs `a` of two members and `b` of one, in one group, with what they ask for."""
    specs = {"a": a, "b": b}
    for name, pods in (("a", 2), ("b", 1)):
        asks: dict[str, Any] = {"network_topology_spec": specs[name]} if specs[name] else {}
        town.gang(name, pods, groups=naming("a", "b"), **asks)


@pytest.mark.parametrize(
    ("a", "b"), [(must("Rack"), ""), ("", must("Rack")), (must("Rack"), " " + must("Rack"))]
)
def test_gangs_of_a_group_without_a_spec_inherit_it(a: str, b: str) -> None:
    town = Town()
    two(town, a, b)

    group = only(town)

    assert (2, RACK, None) == (len(group.gangs), group.gathering, group.problem)


def test_two_different_specs_in_a_group_are_invalid() -> None:
    town = Town()
    two(town, must("Rack"), must("Block"))

    group = only(town)

    expected = (
        f"{SPEC_FIELD} of default/a and {SPEC_FIELD} of default/b must be the same: "
        "they are of one gang group"
    )
    assert (problem(expected), None) == (group.problem, group.gathering)


def test_what_is_wrong_comes_before_what_is_missing() -> None:
    town = Town()
    for name, layer in (("a", "Rack"), ("b", "Block")):
        groups = naming("a", "b", "missing")
        town.gang(name, 1, groups=groups, network_topology_spec=must(layer))

    found = only(town).problem

    assert found is not None
    assert Reason.INVALID_SPEC is found.reason


def test_a_missing_gang_is_still_waited_for() -> None:
    town = Town()
    town.gang("a", 1, groups=naming("missing"), network_topology_spec=must("Rack"))

    assert "WaitingForGangs" == town.waits("a")[0]


def test_a_contradiction_can_be_mended() -> None:
    town = Town()
    two(town, must("Rack"), must("Block"))
    town.cycle()

    both = {"groups": naming("a", "b"), "network_topology_spec": must("Rack")}
    town.put(group_body("b", 1, **both))

    group = only(town)
    assert (RACK, None) == (group.gathering, group.problem)


def test_a_gang_of_a_group_that_asks_in_two_ways_is_invalid() -> None:
    town = Town()
    two(town, must("Rack"))
    town.change("b-0", annotations=REQUIRED)

    a, b = only(town).gangs

    assert (None, True) == (a.problem, b.problem is not None)


# Who runs already.


def test_mates_are_the_bound_members_in_rank_order() -> None:
    town = Town()
    town.put(group_body("a", 3, network_topology_spec=must("Rack")))
    running(town, "a", "a-10", "a-9")
    town.pod("a-1", "a")

    (gang,) = only(town).gangs

    assert (["a-9", "a-10"], 2) == (names(gang.mates), gang.bound)


def test_mates_are_given_where_any_member_asks() -> None:
    town = Town()
    town.put(group_body("a", 3))
    running(town, "a", "a-0")
    town.pod("a-1", "a", annotations=REQUIRED)

    assert ["a-0"] == names(only(town).gangs[0].mates)


def test_where_nobody_asks_nothing_is_listed() -> None:
    town = Town()
    town.put(group_body("a", 3))
    running(town, "a", "a-0")
    town.pod("a-1", "a")

    (gang,) = only(town).gangs

    assert ((), 1) == (gang.mates, gang.bound)


def test_members_that_do_not_live_are_no_mates() -> None:
    town = Town()
    town.put(group_body("a", 3, network_topology_spec=must("Rack")))
    running(town, "a", "a-0", "a-1", "a-2")
    town.end("a-0")
    town.change("a-1", deletionTimestamp="2026-01-01T00:00:00Z")
    town.pod("a-3", "a")

    assert ["a-2"] == names(only(town).gangs[0].mates)


def with_a_running(town: Town, a: str = "", b: str = "", **fields: Any) -> None:
    """Let `a` of two members run, and `b` of one wait, in one group."""
    asks_a = {"network_topology_spec": a} if a else {}
    asks_b = {"network_topology_spec": b} if b else {}
    town.put(group_body("a", 2, groups=naming("b"), **asks_a))
    town.put(group_body("b", 1, groups=naming("a"), **asks_b))
    running(town, "a", "a-10", "a-9", **fields)
    town.pod("b-0", "b", **fields)


@pytest.mark.parametrize(("a", "b"), [(must("Rack"), ""), ("", must("Rack"))])
def test_what_runs_of_a_group_is_where_the_rest_belongs(a: str, b: str) -> None:
    town = Town()
    with_a_running(town, a, b)

    group = only(town)

    assert ["b"] == [gang.key.name for gang in group.gangs]
    assert (RACK, ["a-9", "a-10"]) == (group.gathering, names(group.started))


def test_what_runs_of_a_group_that_asks_for_nothing_is_not_listed() -> None:
    town = Town()
    with_a_running(town)

    group = only(town)

    assert (None, ()) == (group.gathering, group.started)


def test_what_runs_of_a_named_podset_group_is_listed() -> None:
    town = Town()
    with_a_running(town, annotations={**REQUIRED, **kueue(group_name="g")})

    group = only(town)

    assert (None, ["a-9", "a-10"]) == (group.gathering, names(group.started))


@pytest.mark.parametrize(("a", "b"), [(must("Rack"), ""), ("", must("Rack"))])
def test_a_replacement_in_a_gang_that_runs_has_the_spec_of_its_group(a: str, b: str) -> None:
    town = Town()
    with_a_running(town, a, b)
    running(town, "b", "b-0")
    due(town)
    town.gone("a-9")
    town.pod("a-9", "a")

    group = only(town)

    assert ["a"] == [gang.key.name for gang in group.gangs]
    assert (RACK, ["b-0"]) == (group.gathering, names(group.started))
    assert ["a-10"] == names(group.gangs[0].mates)


def test_what_a_running_gang_asks_for_holds_against_who_comes_later() -> None:
    town = Town()
    with_a_running(town, must("Rack"), must("Block"))
    before = only(town).problem
    town.gone("a-9")
    town.pod("a-9", "a")

    replacement = due(town)["a"]

    assert before is not None
    assert "default/a" in before.message
    assert (RACK, None) == (replacement.gathering, replacement.problem)


def test_a_group_hears_of_what_a_running_gang_asks_for_from_now_on() -> None:
    town = Town()
    with_a_running(town, must("Rack"), must("Block"))
    due(town)

    town.put(group_body("a", 2, groups=naming("b"), network_topology_spec=must("Block")))

    group = due(town)["b"]
    assert (BLOCK, None) == (group.gathering, group.problem)


# Podset groups.


def sharing(town: Town, *asks: dict[str, str], name: str = "g") -> GangGroup:
    """Return a group with a gang of one member for each request, all of one podset group."""
    gangs = [f"gang-{i}" for i in range(len(asks))]
    for gang, asked in zip(gangs, asks, strict=True):
        town.put(group_body(gang, 1, groups=naming(*gangs)))
        town.pod(f"{gang}-0", gang, annotations={**asked, **kueue(group_name=name)})
    return only(town)


SLICED = kueue(slice_required_topology="example.com/host", slice_size="2")


@pytest.mark.parametrize("other", [REQUIRED, {**REQUIRED, **SLICED}])
def test_podsets_of_a_group_may_differ_in_their_slices_only(other: dict[str, str]) -> None:
    group = sharing(Town(), REQUIRED, other)

    assert (2, None) == (len(group.gangs), group.problem)


@pytest.mark.parametrize(
    "other",
    [
        kueue(required_topology="example.com/block"),
        kueue(preferred_topology="example.com/rack"),
        kueue(unconstrained_topology="true"),
        {},
    ],
)
def test_podsets_of_a_group_that_differ_are_invalid(other: dict[str, str]) -> None:
    group = sharing(Town(), REQUIRED, other)

    expected = (
        "pods default/gang-0-0 and default/gang-1-0 must ask for the same topology: both have "
        f'metadata.annotations[{KUEUE}group-name] "g"'
    )
    assert problem(expected) == group.problem


def test_podsets_of_a_group_that_differ_inside_one_gang_are_invalid() -> None:
    town = Town()
    town.put(group_body("a", 2))
    for i, asks in enumerate((REQUIRED, {})):
        town.pod(f"a-{i}", "a", annotations={**asks, **kueue(group_name="g")})

    found = only(town).problem

    assert found is not None
    assert "default/a-0 and default/a-1" in found.message


def test_the_same_name_in_another_gang_group_is_another_podset_group() -> None:
    town = Town()
    for gang, asks in (("a", REQUIRED), ("b", kueue(required_topology="example.com/block"))):
        town.put(group_body(gang, 1))
        town.pod(f"{gang}-0", gang, annotations={**asks, **kueue(group_name="g")})

    assert [None, None] == [group.problem for group in due(town).values()]


def test_other_names_are_other_podset_groups() -> None:
    town = Town()
    town.put(group_body("a", 2))
    for name, asks in (("g", REQUIRED), ("h", {})):
        town.pod(f"a-{name}", "a", annotations={**asks, **kueue(group_name=name)})

    assert only(town).problem is None
