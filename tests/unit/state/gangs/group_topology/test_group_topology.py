"""What a gang asks of the network holds for all of it, or is contradictory."""

import pytest

from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from support.in_memory_cluster import (
    Body,
    InMemoryCluster,
    group_body,
    job_body,
    job_set_body,
    native_body,
    options,
    template,
)
from support.topology_annotations import (
    BLOCK,
    KUEUE,
    RACK,
    REQUIRED,
    SPEC,
    SPEC_FIELD,
    due,
    invalid,
    kueue,
    must,
    only,
)

RACK_LABEL = TopologyRequest(must=(LayerRef("example.com/rack", by_label=True),))


# One gang.


def test_a_gang_has_what_its_pod_group_asks_for() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2, network_topology_spec=must("Rack"))

    group = only(cluster)

    assert (RACK, (), None) == (group.topology_request, group.started, group.problem)


def test_an_annotation_gang_has_what_its_members_ask_for() -> None:
    cluster = InMemoryCluster()
    cluster.annotated("a", 2, network_topology_spec=must("Rack"))

    assert RACK == only(cluster).topology_request


def test_of_an_annotation_gang_the_oldest_member_with_valid_annotations_speaks() -> None:
    cluster = InMemoryCluster()
    for day, spec in ((3, must("Block")), (1, "{"), (2, must("Rack"))):
        given = options({"name": "a", "min_available": 3, "network_topology_spec": spec})
        cluster.pod(f"a-{day}", annotations=given, creationTimestamp=f"2026-01-0{day}T00:00:00Z")

    group = only(cluster)

    assert (RACK, None) == (group.topology_request, group.gangs[0].problem)


def test_a_native_pod_group_has_its_constraint() -> None:
    cluster = InMemoryCluster()
    constraint = {"topology": [{"key": "example.com/rack"}]}
    cluster.put(native_body("g", 1, schedulingConstraints=constraint))
    cluster.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    assert RACK_LABEL == only(cluster).topology_request


def test_a_native_pod_group_with_a_key_that_is_none_is_invalid() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, schedulingConstraints={"topology": [{"key": "a b"}]}))
    cluster.pod("p", spec={"schedulingGroup": {"podGroupName": "g"}})

    expected = "spec.schedulingConstraints.topology[0].key must be the key of a node label"
    assert ("InvalidSpec", f'{expected}, not "a b"') == cluster.waits("g")


@pytest.mark.parametrize("workload", ["Job", "JobSet"])
def test_a_workload_has_what_its_template_asks_for(workload: str) -> None:
    cluster = InMemoryCluster()
    pods = template(labels={}, annotations={SPEC: must("Rack")})
    cluster.workload(in_workload(workload, pods))

    group = only(cluster)

    assert (workload, RACK) == (group.gangs[0].key.source, group.topology_request)


@pytest.mark.parametrize("workload", ["Job", "JobSet"])
def test_a_workload_with_a_bad_template_is_invalid(workload: str) -> None:
    cluster = InMemoryCluster()
    cluster.workload(in_workload(workload, template(labels={}, annotations={SPEC: "x"})))

    (gang,) = only(cluster).gangs

    assert f'{SPEC_FIELD} must be JSON, not "x"' == invalid(gang.problem)


def in_workload(kind: str, pods: Body) -> Body:
    if kind == "Job":
        return job_body(pods=pods, parallelism=2)
    body = job_set_body("set", {"workers": (1, 2)})
    body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] = pods
    return body


def test_a_pod_without_a_gang_has_what_it_asks_for() -> None:
    cluster = InMemoryCluster()
    cluster.pod("p", annotations={SPEC: must("Rack")})
    cluster.pod("bad", annotations={SPEC: "{"})
    cluster.pod("plain")

    found = due(cluster)

    gatherings = {name: group.topology_request for name, group in found.items()}
    assert {"p": RACK, "bad": None, "plain": None} == gatherings
    assert f'{SPEC_FIELD} must be JSON, not "{{"' == invalid(found["bad"].gangs[0].problem)


def test_a_pod_without_a_gang_that_is_replaced_asks_for_what_the_new_one_says() -> None:
    cluster = InMemoryCluster()
    cluster.pod("p", annotations={SPEC: must("Rack")})
    cluster.change("p", deletionTimestamp="2026-01-01T00:00:00Z")
    body = {**cluster.pods["default", "p"]}
    metadata = {"name": "p", "namespace": "default", "uid": "new"}
    cluster.put({**body, "metadata": {**metadata, "annotations": {SPEC: must("Block")}}})

    assert BLOCK == only(cluster).topology_request


# Members that say something else.


@pytest.mark.parametrize("own", [must("Block"), "{", '{"gatherStrategy": []}'])
def test_a_member_with_another_spec_than_its_pod_group_is_not_ignored(own: str) -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1, network_topology_spec=must("Rack")))
    cluster.pod("a-0", "a", annotations={SPEC: own})

    expected = f"pod default/a-0: {SPEC_FIELD} must be absent, or the same as on the PodGroup"
    assert expected == invalid(only(cluster).gangs[0].problem)


def test_a_member_with_a_spec_that_its_pod_group_does_not_have_is_not_ignored() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1))
    cluster.pod("a-0", "a", annotations={SPEC: must("Rack")})

    assert "InvalidSpec" == cluster.waits("a")[0]


def test_a_member_may_repeat_what_its_pod_group_says() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1, network_topology_spec=must("Rack")))
    cluster.pod("a-0", "a", annotations={SPEC: " " + must("Rack")})

    assert only(cluster).gangs[0].problem is None


@pytest.mark.parametrize("own", [REQUIRED, kueue(group_name="g")])
def test_a_gang_that_asks_in_two_ways_is_invalid(own: dict[str, str]) -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1, network_topology_spec=must("Rack")))
    cluster.pod("a-0", "a", annotations=own)

    (key,) = own
    expected = (
        f"pod default/a-0: metadata.annotations[{key}] must be absent with {SPEC_FIELD} "
        "of its gang or group"
    )
    assert expected == invalid(only(cluster).gangs[0].problem)


def test_a_member_that_may_be_anywhere_contradicts_no_other() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 1, network_topology_spec=must("Rack")))
    cluster.pod("a-0", "a", annotations=kueue(unconstrained_topology="true"))

    assert only(cluster).gangs[0].problem is None


def test_a_member_with_bad_annotations_makes_its_gang_invalid() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 2)
    cluster.change("a-1", annotations=kueue(required_topology=""))

    where = f"metadata.annotations[{KUEUE}required-topology]"
    expected = f'pod default/a-1: {where} must be the key of a node label, not ""'
    assert ("InvalidSpec", expected) == cluster.waits("a")
