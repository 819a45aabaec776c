"""ClusterNetworkTopologies: what is in force, and what is written of it."""

import asyncio
from typing import Any

import pytest

from conformance import trees
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import topology
from gang_scheduler.report.topology_status import TopologyWriter
from gang_scheduler.watch.sweep import Sweep
from support import builders, cache_feeding, parts
from support.topology_harness import SPEC, TopologyHarness

BROKEN_SPEC = SPEC[1:]
SHORT_SPEC = [SPEC[0], {**SPEC[2], "parentTopologyLayer": "SpineLayer"}]
BROKEN = 'parentTopologyLayer "SpineLayer" of layer "BlockLayer" is no layer of the spec; '
KEPT = "the tree of the last valid spec stays in use"


@pytest.fixture
def harness() -> TopologyHarness:
    made = TopologyHarness()
    made.node("n1", spine="s1", block="b1")
    made.node("n2", spine="s1", block="b2")
    return made


@pytest.mark.parametrize("case", trees.cases("topologyStatus").values(), ids=lambda c: c["id"])
async def test_the_worked_cases_have_their_status(case: dict[str, Any]) -> None:
    harness = TopologyHarness()
    cluster = trees.cluster(case["cluster"])
    for name, labels in cluster.labels.items():
        harness.node(name, **labels)
    harness.topology(cluster.spec)

    await harness.writer.flush()

    assert trees.expected_status(case) == harness.status()["detailStatus"]


@pytest.mark.parametrize("spec", trees.invalid_specs())
async def test_what_others_refuse_is_an_invalid_spec(spec: list[dict[str, Any]]) -> None:
    harness = TopologyHarness()
    harness.topology(spec)

    await harness.writer.flush()

    assert ("False", "InvalidSpec") == harness.condition()[:2]


async def test_all_nodes_in_the_tree_is_ready(harness: TopologyHarness) -> None:
    harness.topology(generation=7)

    await harness.writer.flush()

    assert ("True", "InUse", "2 nodes are in the tree") == harness.condition()
    assert 7 == harness.status()["conditions"][0]["observedGeneration"]
    assert [] == await harness.notes()


async def test_nodes_outside_are_counted_and_named(harness: TopologyHarness) -> None:
    for number in range(12):
        harness.node(f"x{number}", block="b1")
    harness.topology()

    await harness.writer.flush()

    words = (
        "12 of 14 nodes are outside the tree, without a label of SpineLayer: "
        "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 2 more"
    )
    assert ("True", "ExcludedNodes", words) == harness.condition()
    assert [words] == await harness.notes()


async def test_an_invalid_spec_keeps_the_last_valid_tree_which_follows_the_nodes(
    harness: TopologyHarness,
) -> None:
    harness.topology()
    await harness.writer.flush()
    harness.now += 5
    harness.topology(BROKEN_SPEC, generation=2)
    harness.node("n3", spine="s2", block="b3")

    await harness.writer.flush()

    assert ("False", "InvalidSpec", BROKEN + KEPT) == harness.condition()
    assert 3 == harness.status()["detailStatus"][0]["nodeNum"]
    assert 2 == harness.status()["conditions"][0]["observedGeneration"]
    assert [BROKEN + KEPT] == await harness.notes()


async def test_an_invalid_spec_from_the_start_is_no_tree(harness: TopologyHarness) -> None:
    harness.topology(BROKEN_SPEC)

    await harness.writer.flush()

    assert ("False", "InvalidSpec", BROKEN + "no tree is made of it") == harness.condition()
    assert "detailStatus" not in harness.status()
    assert harness.tree() is None


async def test_wrong_types_are_an_invalid_spec_too(harness: TopologyHarness) -> None:
    harness.topology([{"topologyLayer": 7}])

    await harness.writer.flush()

    cause = (
        "spec.networkTopologySpec[0].topologyLayer must be a string, not 7; no tree is made of it"
    )
    assert ("False", "InvalidSpec", cause) == harness.condition()


async def test_a_spec_that_is_right_again_counts(harness: TopologyHarness) -> None:
    harness.topology(BROKEN_SPEC)
    await harness.writer.flush()
    harness.topology(generation=2)

    await harness.writer.flush()

    assert ("True", "InUse", "2 nodes are in the tree") == harness.condition()


async def test_only_the_default_counts(harness: TopologyHarness) -> None:
    harness.topology(name="other")

    await harness.writer.flush()

    words = 'only the ClusterNetworkTopology named "default" is used'
    assert ("False", "NotDefault", words) == harness.condition("other")
    assert harness.tree() is None


async def test_a_deleted_one_means_no_tree(harness: TopologyHarness) -> None:
    harness.topology()
    assert harness.tree() is not None

    harness.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")
    await harness.writer.flush()

    assert harness.tree() is None
    assert 0 == harness.writes()


async def test_another_one_of_the_name_inherits_no_tree(harness: TopologyHarness) -> None:
    harness.topology()
    # Its deletion was missed: no event tells of it.
    body = {"metadata": {"name": "default", "uid": "uid-2"}, "spec": {"networkTopologySpec": []}}
    cache_feeding.upsert(harness.cache, CLUSTER_NETWORK_TOPOLOGIES, topology.read(body))

    assert harness.tree() is None
    assert ["uid-2"] == list(cache_feeding.uids(harness.cache, CLUSTER_NETWORK_TOPOLOGIES))


async def test_a_sweep_finds_a_deletion_that_was_missed(harness: TopologyHarness) -> None:
    harness.topology()
    harness.cluster.watchers.clear()
    harness.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")

    sweep = Sweep(harness.api, harness.event_handlers, 60)
    await sweep.sweep(harness.event_handlers.of(CLUSTER_NETWORK_TOPOLOGIES))

    assert harness.tree() is None


async def test_gangs_that_wait_are_tried_again_when_trees_change_and_only_then(
    harness: TopologyHarness,
) -> None:
    harness.cache.upsert_pod(builders.pod("a"))
    assert ["a"] == harness.tried()

    harness.topology()
    assert ["a"] == harness.tried()
    harness.topology(generation=2)
    harness.topology(name="other")
    harness.topology(BROKEN_SPEC, generation=3)
    assert [] == harness.tried()
    harness.topology(SHORT_SPEC, generation=4)
    assert ["a"] == harness.tried()
    harness.cluster.delete(CLUSTER_NETWORK_TOPOLOGIES, "", "default")
    assert ["a"] == harness.tried()


async def test_the_loop_is_woken_when_trees_change(harness: TopologyHarness) -> None:
    harness.changes.cycle.clear()
    harness.topology()
    woken = harness.changes.cycle.is_set()
    harness.changes.cycle.clear()
    harness.topology(generation=2)

    assert (True, False) == (woken, harness.changes.cycle.is_set())


async def test_the_tree_is_built_when_nodes_or_layers_change_and_not_before(
    harness: TopologyHarness,
) -> None:
    harness.topology()
    first = harness.tree()

    harness.node("n1", spine="s1", block="b1")
    harness.topology(SPEC[::-1], generation=2)
    assert first is harness.tree()

    harness.node("n1", spine="s1", block="b9")
    second = harness.tree()
    assert second is not first
    harness.topology(SHORT_SPEC, generation=3)
    assert harness.tree() is not second


async def test_a_heartbeat_of_a_node_builds_no_tree(harness: TopologyHarness) -> None:
    harness.topology()
    first = harness.tree()

    harness.heartbeat("n1", spine="s1", block="b1")

    assert first is harness.tree()


async def test_what_is_there_already_is_not_written(harness: TopologyHarness) -> None:
    harness.topology()
    await harness.writer.flush()
    harness.now += 100

    await harness.writer.flush()
    harness.node("n1", spine="s1", block="b1", other="label")
    await harness.writer.flush()

    assert 1 == harness.writes()


async def test_after_a_restart_nothing_is_written_or_reported_twice(
    harness: TopologyHarness,
) -> None:
    harness.node("n3")
    harness.topology()
    await harness.writer.flush()
    assert 1 == len(await harness.notes())
    harness.events = parts.events(harness.api, lambda: harness.now)
    again = TopologyWriter(
        *(harness.api, harness.cache, harness.events),
        changes=harness.changes,
        writes=Writes(),
        clock=lambda: harness.now + 100,
    )

    await again.flush()

    assert 1 == harness.writes()
    assert 1 == len(await harness.notes())


async def test_conditions_of_others_stay(harness: TopologyHarness) -> None:
    harness.topology()
    foreign = {"type": "Audited", "status": "True", "reason": "Audited", "message": ""}
    with harness.cluster.changing(CLUSTER_NETWORK_TOPOLOGIES, "", "default") as found:
        found["status"] = {"conditions": [foreign]}

    await harness.writer.flush()

    assert ["Audited", "Ready"] == [each["type"] for each in harness.status()["conditions"]]


async def test_a_crd_that_drops_conditions_is_not_written_for_ever(
    harness: TopologyHarness,
) -> None:
    harness.topology()
    await harness.writer.flush()
    for _ in range(3):
        harness.now += 100
        with harness.cluster.changing(CLUSTER_NETWORK_TOPOLOGIES, "", "default") as found:
            found["status"].pop("conditions", None)
        await harness.writer.flush()

    assert 1 == harness.writes()


async def test_the_moment_of_the_last_transition_moves_with_the_status_only(
    harness: TopologyHarness,
) -> None:
    harness.topology()
    await harness.writer.flush()
    harness.now += 60
    harness.node("n3")
    await harness.writer.flush()
    assert "1970-01-01T00:16:40Z" == harness.status()["conditions"][0]["lastTransitionTime"]

    harness.topology(BROKEN_SPEC, generation=2)
    await harness.writer.flush()

    assert "1970-01-01T00:17:40Z" == harness.status()["conditions"][0]["lastTransitionTime"]


@pytest.mark.looptime
async def test_changes_within_a_second_are_one_write(harness: TopologyHarness) -> None:
    harness.topology()
    writing = asyncio.create_task(harness.writer.run())
    for number in range(8):
        harness.node(f"more-{number}", spine="s3", block="b3")
        await asyncio.sleep(0.1)
    assert 0 == harness.writes()

    await asyncio.sleep(5)

    assert 1 == harness.writes()
    writing.cancel()


@pytest.mark.looptime
async def test_nothing_is_written_by_a_follower_and_all_of_it_once_it_leads(
    harness: TopologyHarness,
) -> None:
    harness.leads = False
    harness.topology()
    writing = asyncio.create_task(harness.writer.run())
    await asyncio.sleep(10)
    assert 0 == harness.writes()

    harness.leads = True
    await asyncio.sleep(2)

    assert 1 == harness.writes()
    writing.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize(("status", "writes"), [(500, 2), (429, 2), (422, 1), (404, 1)])
async def test_a_write_is_tried_again_where_that_may_help(
    harness: TopologyHarness, status: int, writes: int
) -> None:
    harness.api.fail("patch_status", Fault(ApiError(status, "no")))
    harness.topology()
    writing = asyncio.create_task(harness.writer.run())

    await asyncio.sleep(10)

    assert writes == harness.writes()
    writing.cancel()
