"""ClusterNetworkTopologies: what is in force, and what is written of it."""

import asyncio
from typing import Any

import pytest

import builders
from conformance import trees
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.faults import Fault
from gang_scheduler.decode import topologies
from gang_scheduler.report.events import Events
from gang_scheduler.report.topology_writer import TopologyWriter
from gang_scheduler.watch.sweep import Sweep
from topology_rig import SPEC, Rig

BROKEN_SPEC = SPEC[1:]
SHORT_SPEC = [SPEC[0], {**SPEC[2], "parentTopologyLayer": "SpineLayer"}]
BROKEN = 'parentTopologyLayer "SpineLayer" of layer "BlockLayer" is no layer of the spec; '
KEPT = "the tree of the last valid spec stays in use"


@pytest.fixture
def rig() -> Rig:
    made = Rig()
    made.node("n1", spine="s1", block="b1")
    made.node("n2", spine="s1", block="b2")
    return made


@pytest.mark.parametrize("case", trees.cases("topologyStatus").values(), ids=lambda c: c["id"])
async def test_the_worked_cases_have_their_status(case: dict[str, Any]) -> None:
    rig = Rig()
    cluster = trees.cluster(case["cluster"])
    for name, labels in cluster.labels.items():
        rig.node(name, **labels)
    rig.topology(cluster.spec)

    await rig.writer.flush()

    assert trees.expected_status(case) == rig.status()["detailStatus"]


@pytest.mark.parametrize("spec", trees.invalid_specs())
async def test_what_others_refuse_is_an_invalid_spec(spec: list[dict[str, Any]]) -> None:
    rig = Rig()
    rig.topology(spec)

    await rig.writer.flush()

    assert ("False", "InvalidSpec") == rig.condition()[:2]


async def test_all_nodes_in_the_tree_is_ready(rig: Rig) -> None:
    rig.topology(generation=7)

    await rig.writer.flush()

    assert ("True", "InUse", "2 nodes are in the tree") == rig.condition()
    assert 7 == rig.status()["conditions"][0]["observedGeneration"]
    assert [] == await rig.notes()


async def test_nodes_outside_are_counted_and_named(rig: Rig) -> None:
    for number in range(12):
        rig.node(f"x{number}", block="b1")
    rig.topology()

    await rig.writer.flush()

    words = (
        "12 of 14 nodes are outside the tree, without a label of SpineLayer: "
        "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 2 more"
    )
    assert ("True", "ExcludedNodes", words) == rig.condition()
    assert [words] == await rig.notes()


async def test_an_invalid_spec_keeps_the_last_valid_tree_which_follows_the_nodes(rig: Rig) -> None:
    rig.topology()
    await rig.writer.flush()
    rig.now += 5
    rig.topology(BROKEN_SPEC, generation=2)
    rig.node("n3", spine="s2", block="b3")

    await rig.writer.flush()

    assert ("False", "InvalidSpec", BROKEN + KEPT) == rig.condition()
    assert 3 == rig.status()["detailStatus"][0]["nodeNum"]
    assert 2 == rig.status()["conditions"][0]["observedGeneration"]
    assert [BROKEN + KEPT] == await rig.notes()


async def test_an_invalid_spec_from_the_start_is_no_tree(rig: Rig) -> None:
    rig.topology(BROKEN_SPEC)

    await rig.writer.flush()

    assert ("False", "InvalidSpec", BROKEN + "no tree is made of it") == rig.condition()
    assert "detailStatus" not in rig.status()
    assert rig.tree() is None


async def test_wrong_types_are_an_invalid_spec_too(rig: Rig) -> None:
    rig.topology([{"topologyLayer": 7}])

    await rig.writer.flush()

    cause = (
        "spec.networkTopologySpec[0].topologyLayer must be a string, not 7; no tree is made of it"
    )
    assert ("False", "InvalidSpec", cause) == rig.condition()


async def test_a_spec_that_is_right_again_counts(rig: Rig) -> None:
    rig.topology(BROKEN_SPEC)
    await rig.writer.flush()
    rig.topology(generation=2)

    await rig.writer.flush()

    assert ("True", "InUse", "2 nodes are in the tree") == rig.condition()


async def test_only_the_default_counts(rig: Rig) -> None:
    rig.topology(name="other")

    await rig.writer.flush()

    words = 'only the ClusterNetworkTopology named "default" is used'
    assert ("False", "NotDefault", words) == rig.condition("other")
    assert rig.tree() is None


async def test_a_deleted_one_means_no_tree(rig: Rig) -> None:
    rig.topology()
    assert rig.tree() is not None

    rig.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")
    await rig.writer.flush()

    assert rig.tree() is None
    assert 0 == rig.writes()


async def test_another_one_of_the_name_inherits_no_tree(rig: Rig) -> None:
    rig.topology()
    # Its deletion was missed: no event tells of it.
    body = {"metadata": {"name": "default", "uid": "uid-2"}, "spec": {"networkTopologySpec": []}}
    rig.cache.topology_seen(topologies.read(body))

    assert rig.tree() is None
    assert ["uid-2"] == list(rig.cache.uids(CLUSTER_NETWORK_TOPOLOGIES))


async def test_a_sweep_finds_a_deletion_that_was_missed(rig: Rig) -> None:
    rig.topology()
    rig.cluster.watchers.clear()
    rig.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")

    await Sweep(rig.api, rig.cache, rig.intake, 60).sweep((CLUSTER_NETWORK_TOPOLOGIES,))

    assert rig.tree() is None


async def test_gangs_that_wait_are_tried_again_when_trees_change_and_only_then(rig: Rig) -> None:
    rig.cache.pod_seen(builders.pod("a"))
    assert ["a"] == rig.tried()

    rig.topology()
    assert ["a"] == rig.tried()
    rig.topology(generation=2)
    rig.topology(name="other")
    rig.topology(BROKEN_SPEC, generation=3)
    assert [] == rig.tried()
    rig.topology(SHORT_SPEC, generation=4)
    assert ["a"] == rig.tried()
    rig.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")
    assert ["a"] == rig.tried()


async def test_the_loop_is_woken_when_trees_change(rig: Rig) -> None:
    before = rig.wakes

    rig.topology()
    rig.topology(generation=2)

    assert before + 1 == rig.wakes


async def test_the_tree_is_built_when_nodes_or_layers_change_and_not_before(rig: Rig) -> None:
    rig.topology()
    first = rig.tree()

    rig.node("n1", spine="s1", block="b1")
    rig.topology(SPEC[::-1], generation=2)
    assert first is rig.tree()

    rig.node("n1", spine="s1", block="b9")
    second = rig.tree()
    assert second is not first
    rig.topology(SHORT_SPEC, generation=3)
    assert rig.tree() is not second


async def test_a_heartbeat_of_a_node_builds_no_tree(rig: Rig) -> None:
    rig.topology()
    first = rig.tree()

    rig.heartbeat("n1", spine="s1", block="b1")

    assert first is rig.tree()


async def test_what_is_there_already_is_not_written(rig: Rig) -> None:
    rig.topology()
    await rig.writer.flush()
    rig.now += 100

    await rig.writer.flush()
    rig.node("n1", spine="s1", block="b1", other="label")
    await rig.writer.flush()

    assert 1 == rig.writes()


async def test_after_a_restart_nothing_is_written_nor_told_twice(rig: Rig) -> None:
    rig.node("n3")
    rig.topology()
    await rig.writer.flush()
    assert 1 == len(await rig.notes())
    rig.events = Events(rig.api, clock=lambda: rig.now)
    again = TopologyWriter(rig.api, rig.cache, rig.events, clock=lambda: rig.now + 100)

    await again.flush()

    assert 1 == rig.writes()
    assert 1 == len(await rig.notes())


async def test_conditions_of_others_stay(rig: Rig) -> None:
    rig.topology()
    foreign = {"type": "Audited", "status": "True", "reason": "Audited", "message": ""}
    with rig.cluster.changing(CLUSTER_NETWORK_TOPOLOGIES, "", "default") as found:
        found["status"] = {"conditions": [foreign]}

    await rig.writer.flush()

    assert ["Audited", "Ready"] == [each["type"] for each in rig.status()["conditions"]]


async def test_a_crd_that_drops_conditions_is_not_written_for_ever(rig: Rig) -> None:
    rig.topology()
    await rig.writer.flush()
    for _ in range(3):
        rig.now += 100
        with rig.cluster.changing(CLUSTER_NETWORK_TOPOLOGIES, "", "default") as found:
            found["status"].pop("conditions", None)
        await rig.writer.flush()

    assert 1 == rig.writes()


async def test_the_moment_of_the_last_transition_moves_with_the_status_only(rig: Rig) -> None:
    rig.topology()
    await rig.writer.flush()
    rig.now += 60
    rig.node("n3")
    await rig.writer.flush()
    assert "1970-01-01T00:16:40Z" == rig.status()["conditions"][0]["lastTransitionTime"]

    rig.topology(BROKEN_SPEC, generation=2)
    await rig.writer.flush()

    assert "1970-01-01T00:17:40Z" == rig.status()["conditions"][0]["lastTransitionTime"]


@pytest.mark.looptime
async def test_changes_within_a_second_are_one_write(rig: Rig) -> None:
    rig.topology()
    writing = asyncio.create_task(rig.writer.run())
    for number in range(8):
        rig.node(f"more-{number}", spine="s3", block="b3")
        await asyncio.sleep(0.1)
    assert 0 == rig.writes()

    await asyncio.sleep(5)

    assert 1 == rig.writes()
    writing.cancel()


@pytest.mark.looptime
async def test_nothing_is_written_by_a_follower_and_all_of_it_once_it_leads(rig: Rig) -> None:
    rig.leads = False
    rig.topology()
    writing = asyncio.create_task(rig.writer.run())
    await asyncio.sleep(10)
    assert 0 == rig.writes()

    rig.leads = True
    await asyncio.sleep(2)

    assert 1 == rig.writes()
    writing.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize(("status", "writes"), [(500, 2), (429, 2), (422, 1), (404, 1)])
async def test_a_write_is_tried_again_where_that_may_help(
    rig: Rig, status: int, writes: int
) -> None:
    rig.api.fail("patch_status", Fault(ApiError(status, "no")))
    rig.topology()
    writing = asyncio.create_task(rig.writer.run())

    await asyncio.sleep(10)

    assert writes == rig.writes()
    writing.cancel()
