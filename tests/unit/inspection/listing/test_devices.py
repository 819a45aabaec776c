"""Devices of claims in `list`, `cluster` and `explain`."""

from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.scheduler.devices import inventory
from support import device_objects
from support.device_objects import Body
from support.listed_clusters import asked, document, explained, gang, node

TEAM = "team"


def of_team(body: Body) -> Body:
    """Return an object in the namespace of the gangs."""
    body["metadata"]["namespace"] = TEAM
    return body


def claiming(pods: list[Body], *entries: Body) -> list[Body]:
    """Return a gang whose members have these claims."""
    group, *members = pods
    for each in members:
        each["spec"]["resourceClaims"] = [*entries]
    return [group, *members]


def runs() -> list[Body]:
    """Return a gang of two members that share a claim of two devices."""
    pods = claiming(gang("runs", 2, gpus=0, nodes=["n1", "n1"]), device_objects.by_name("shared"))
    claim = of_team(device_objects.claim("shared", device_objects.request(2)))
    claim = device_objects.allocated(claim, "n1", "gpu-0", "gpu-1", pods=("runs-0", "runs-1"))
    return [*pods, claim]


def waits() -> list[Body]:
    """Return a gang of one member whose claim asks for three devices."""
    entry = {"name": "gpus", "resourceClaimName": "three"}
    claim = of_team(device_objects.claim("three", device_objects.request(3, name="gpus")))
    return [*claiming(gang("waits", 1, gpus=0), entry), claim]


PUBLISHED = [
    *(node(name, gpus=0) for name in ("n1", "n2")),
    device_objects.device_class(),
    device_objects.resource_slice("n1"),
    device_objects.resource_slice("n2", 2),
]
CLUSTER = [*PUBLISHED, *runs(), *waits()]


def test_a_gang_has_the_devices_of_its_claims_or_those_that_they_ask_for(tmp_path: Path) -> None:
    lines = asked("list", tmp_path, CLUSTER, "-A").stdout.splitlines()
    column = lines[0].split().index("DEVICES")

    assert {"team/runs": "2", "team/waits": "3"} == {
        each.split()[0]: each.split()[column] for each in lines[1:3]
    }
    items = document("list", tmp_path, CLUSTER, "-A")["items"]
    assert {"runs": 2, "waits": 3} == {each["name"]: each["devices"] for each in items}


def test_there_is_no_column_without_claims(tmp_path: Path) -> None:
    cluster = [node("n1"), *gang("a", 1)]

    assert "DEVICES" not in asked("list", tmp_path, cluster, "-A").stdout
    assert [0] == [each["devices"] for each in document("list", tmp_path, cluster, "-A")["items"]]
    assert "devices" not in asked("cluster", tmp_path, cluster).stdout


def test_the_cluster_and_a_node_say_how_many_devices_are_used(tmp_path: Path) -> None:
    assert "devices of class gpu: 2/6 used" in asked("cluster", tmp_path, CLUSTER).stdout
    of_node = asked("cluster", tmp_path, CLUSTER, "n1").stdout.splitlines()[0]
    assert "gpu: 2/4 used" in of_node

    use = {"driver": device_objects.DRIVER, "class": "gpu", "tainted": 0}
    assert [{**use, "used": 2, "all": 6}] == document("cluster", tmp_path, CLUSTER)["devices"]
    on_n2 = document("cluster", tmp_path, CLUSTER, "n2")["devices"]
    assert [{**use, "used": 0, "all": 2}] == on_n2


def test_devices_count_as_gpus_where_their_class_names_the_resource(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slept(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", slept)
    of_class = device_objects.device_class(extendedResourceName="nvidia.com/gpu")
    plugin = node("n3", gpus=8)
    cluster = [*(of_class if each["kind"] == "DeviceClass" else each for each in CLUSTER), plugin]

    assert "12 of 14 GPUs idle" in asked("list", tmp_path, cluster, "-A", "--watch").stdout
    domains = asked("cluster", tmp_path, cluster).stdout
    assert "2/14" in domains
    of_node = asked("cluster", tmp_path, cluster, "n1").stdout.splitlines()[0]
    assert "2/4 nvidia.com/gpu" in of_node


def test_a_pool_with_slices_for_several_nodes_counts_on_each_of_them(tmp_path: Path) -> None:
    pool = {"name": "both", "generation": 1, "resourceSliceCount": 2}
    slices = [device_objects.resource_slice(f"n{i}", i, pool=pool) for i in (1, 2)]
    for i, each in enumerate(slices):
        each["spec"]["devices"] = [{"name": f"on-{i}-{j}"} for j in range(i + 1)]

    found = document("cluster", tmp_path, [*PUBLISHED[:3], *slices], "n2")["devices"]
    alone = document("cluster", tmp_path, [*PUBLISHED[:3], slices[1]], "n2")["devices"]

    assert [2] == [each["all"] for each in found]
    assert [] == alone


def test_readings_between_which_no_device_has_changed_count_devices_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    real = inventory._known

    def noted(*of: Any) -> Any:
        made.append(of)
        return real(*of)

    monkeypatch.setattr(inventory, "_known", noted)

    asked("cluster", tmp_path, CLUSTER)

    assert 2 == len(made)


def test_tainted_devices_are_reported(tmp_path: Path) -> None:
    tainted = device_objects.resource_slice("n1", 3)
    taint = {"key": "bad", "effect": "NoSchedule"}
    tainted["spec"]["devices"][0]["taints"] = [taint]

    said = asked("cluster", tmp_path, [*PUBLISHED[:3], tainted]).stdout

    assert "devices of class gpu: 0/3 used, 1 tainted" in said


def test_explain_shows_the_devices_of_a_gang_that_runs(tmp_path: Path) -> None:
    running = explained(tmp_path, CLUSTER, "team/runs").running
    assert running is not None
    assert running.devices is not None
    names = (f"{device_objects.DRIVER}/n1/gpu-0", f"{device_objects.DRIVER}/n1/gpu-1")
    assert {("runs-0", names), ("runs-1", names)} == {
        (each.pod, each.devices) for each in running.devices
    }
    said = asked("explain", tmp_path, CLUSTER, "team/runs").stdout
    assert f"devices: runs-0 gpu {', '.join(names)}" in " ".join(said.split())


def test_explain_shows_what_each_request_finds_on_the_nearest_node(tmp_path: Path) -> None:
    found = explained(tmp_path, CLUSTER, "team/waits")

    assert found.nodes is not None
    nearest = found.nodes[0].devices
    assert nearest is not None
    assert "n1" == nearest.node
    (request,) = nearest.requests
    assert ("gpus", "gpu", 3) == (request.request, request.device_class, request.needed)
    assert (4, 4, 4, 2) == (
        *(request.on_node, request.of_class, request.matching),
        request.free,
    )
    assert "needs 3 gpu on one node; the best node has 2 of 4 free" in found.summary
    said = asked("explain", tmp_path, CLUSTER, "team/waits").stdout
    assert "the nearest node for its claims is n1" in said
    assert "request gpus needs 3: 4 devices there, 2 free" in said
