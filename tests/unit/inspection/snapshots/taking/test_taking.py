"""Snapshots of an API server, and of files."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gang_scheduler.api.kinds import NODES, PODS, VOLCANO_QUEUES
from gang_scheduler.client.connection import Connection
from gang_scheduler.inspection.servers import Server
from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.inspection.snapshots.taking import Snapshot
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.objects import UnreadableInput
from support.api_objects import node_body, pod_body
from support.listing_server import ListingServer, listed

SCHEMAS = Path(__file__).parents[5] / "docs" / "schemas"
BROKEN = pod_body("broken", nodeName="n1", priority="high")


async def taken(**answers: Any) -> Snapshot:
    """Return the snapshot of a server with a node and two pods."""
    served = {
        NODES.path(): listed(node_body("n1")),
        PODS.path(): listed(pod_body("p"), BROKEN),
    }
    async with (
        ListingServer({**served, **answers}) as listing,
        Connection(listing.configuration) as connection,
    ):
        return await taking.of_server(Server(connection, "a"))


async def test_a_snapshot_of_a_server_is_decided_as_its_cluster_is() -> None:
    snapshot = await taken()

    assert ({"nodes": 1, "pods": 2}, "live") == (snapshot.header.counts, snapshot.header.source)
    assert ["n1", "broken", "p"] == [each.name for each in snapshot.lines]
    content = b"".join(snapshot.content())
    assert [] == list(taking.differences("f", content, snapshot.cluster))


async def test_a_kind_of_queues_that_is_served_is_counted_though_there_are_none() -> None:
    snapshot = await taken(**{VOLCANO_QUEUES.path(): listed()})

    assert 0 == snapshot.header.counts[VOLCANO_QUEUES.name]


def manifest(tmp_path: Path, *bodies: Any) -> str:
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in bodies))
    return str(path)


def test_a_snapshot_of_a_snapshot_is_the_same(tmp_path: Path) -> None:
    kept = {"layer": "BlockLayer", "nodeSelector": {"pool": "a"}}
    counted = {"input": "x", "multiplyBy": "y", "outputs": {"z": 1}}
    policy = Policy(max_victims=7, spare_nodes=[kept], resource_transformations=[counted])
    first = taking.of_files([manifest(tmp_path, node_body(), pod_body())], policy)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(first.content()))

    second = taking.of_files([str(path)], Policy())

    assert [*first.content()] == [*second.content()]


async def test_a_snapshot_of_a_snapshot_of_a_server_is_the_same(tmp_path: Path) -> None:
    first = await taken()
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(first.content()))

    second = taking.of_files([str(path)], Policy())

    assert [*first.content()] == [*second.content()]


async def test_manifests_are_no_part_of_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join((await taken()).content()))

    with pytest.raises(UnreadableInput, match="give only one of both"):
        taking.of_files([str(path), manifest(tmp_path, node_body())], Policy())


async def test_the_header_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((SCHEMAS / "snapshotheader.json").read_text())

    for snapshot in (await taken(), taking.of_files([manifest(tmp_path, node_body())], Policy())):
        header = json.loads(next(iter(snapshot.content())))
        jsonschema.Draft202012Validator(schema).validate(header)
