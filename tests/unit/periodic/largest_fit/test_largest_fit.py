"""How large a gang could start is shown of each shape of the settings."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import ValidationError

from gang_scheduler.model.rules import GangRules, Rules, SpareNodes
from gang_scheduler.periodic import largest_fit
from gang_scheduler.periodic.largest_fit import LargestGangs
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.settings.run import Settings
from support import builders
from support.measured import Measured
from support.metric_values import series, until_shown

SHAPES = ("cpu=3", "nvidia.com/gpu=8")


def shown() -> dict[tuple[str, str], float]:
    found = ((dict(labels), value) for labels, value in series("pgs_largest_gang").items())
    return {(labels["layer"], labels["shape"]): value for labels, value in found}


def test_a_shape_of_what_no_node_has_is_not_shown() -> None:
    found = Measured()
    gauge = LargestGangs(found.cache, PROFILES["binpack"], SHAPES, lambda: found.now)
    gauge.show()
    assert {("ClusterTopologyLayer", "cpu=3"): 4, ("NodeTopologyLayer", "cpu=3"): 2} == shown()

    tainted = builders.node("n3", gpu=16, cpu=0, taints=["nvidia.com/gpu=present:NoSchedule"])
    found.cache.upsert(found.cache.node_store, tainted)
    found.label_blocks()
    gauge.show()
    assert 0 == shown()["SpineLayer", "nvidia.com/gpu=8"]
    assert 4 == shown()["SpineLayer", "cpu=3"]


def test_spare_nodes_are_counted_by_layer() -> None:
    found = Measured()
    found.label_blocks()
    rules = (SpareNodes("SpineLayer"), SpareNodes("RackLayer"))
    profile = replace(PROFILES["binpack"], rules=Rules(gangs=GangRules(spare_nodes=rules)))

    LargestGangs(found.cache, profile, (), lambda: found.now).show()

    kept = {dict(labels)["layer"]: n for labels, n in series("pgs_spare_nodes").items()}
    assert {"SpineLayer": 1, "RackLayer": 0} == kept


async def test_it_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(largest_fit, "LEAST_SECONDS", 0.01)
    found = Measured()
    running = asyncio.create_task(LargestGangs(found.cache, PROFILES["binpack"], SHAPES).run())
    whole = {"layer": "ClusterTopologyLayer", "shape": "cpu=3"}
    await until_shown(4, "pgs_largest_gang", **whole)
    found.bind([builders.pod("p", cpu=6)])

    await until_shown(2, "pgs_largest_gang", **whole)
    running.cancel()


@pytest.mark.parametrize(
    "shapes", [("cpu",), ("cpu=0",), ("=3",), ("cpu=1,,memory=1Gi",), ("cpu=1",) * 5]
)
def test_what_is_no_shape_is_refused(shapes: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="gauge_shapes"):
        Settings(gauge_shapes=shapes)
