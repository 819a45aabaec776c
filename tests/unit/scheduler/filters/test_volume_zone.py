"""Nodes with zones or regions must have those of the volumes."""

import numpy as np
import pytest

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.volumes import Storage
from gang_scheduler.scheduler.filters import volume_zone
from support.builders import node, pod_class

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def passes(storage: Storage | None, labels: dict[str, str]) -> bool:
    nodes = NodeTable([node("n", labels=labels)])
    return bool(volume_zone.passes(pod_class(storage=storage), nodes)[0])


@pytest.mark.parametrize("storage", [None, Storage(sole=("default/x",))])
def test_without_zones_any_node_will_do(storage: Storage | None) -> None:
    assert passes(storage, {ZONE: "a"})


@pytest.mark.parametrize(
    ("key", "labels", "expected"),
    [
        (ZONE, {ZONE: "a"}, True),
        (ZONE, {ZONE: "b"}, True),
        (ZONE, {ZONE: "c"}, False),
        (ZONE, {REGION: "r"}, False),
        (ZONE, {}, True),
        (ZONE, {"zone": "c"}, True),
        (ZONE, {OLD_ZONE: "a"}, False),
        (OLD_ZONE, {ZONE: "a"}, True),
        (OLD_ZONE, {ZONE: "c"}, False),
        (OLD_ZONE, {OLD_ZONE: "a", ZONE: "c"}, True),
        (OLD_ZONE, {OLD_ZONE: "c", ZONE: "a"}, False),
    ],
)
def test_a_zone_must_be_one_of_the_volumes(
    key: str,
    labels: dict[str, str],
    expected: bool,  # noqa: FBT001 - a row of a table.
) -> None:
    assert expected == passes(Storage(zones=((key, ("a", "b")),)), labels)


def test_all_volumes_must_agree() -> None:
    storage = Storage(zones=((ZONE, ("a",)), (ZONE, ("b",))))

    assert not passes(storage, {ZONE: "a"})


def test_the_reason_is_kube_schedulers() -> None:
    found = volume_zone.reasons(pod_class(), NodeTable([node("n")]), np.array([True]))

    assert {"node(s) had no available volume zone": 1} == found
