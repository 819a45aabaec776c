"""All measures together: shown now and then, whatever goes wrong with one."""

import asyncio

import pytest

from gang_scheduler.model.plan import DeviceSearches, Plan
from gang_scheduler.report import gang_metrics
from support.measured import Measured
from support.metric_values import counted, until_shown


async def test_gauges_are_shown_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gang_metrics, "LEAST_SECONDS", 0.01)
    found = Measured()
    running = asyncio.create_task(found.measures.run())
    await until_shown(2, "pgs_nodes", state="ready")
    found.gang("a")

    await until_shown(1, "pgs_gangs", job_type="PodGroup", phase="PreScheduling")
    running.cancel()


def test_searches_for_devices_are_counted_in_the_cycles_that_have_some() -> None:
    found = Measured()
    steps, cut = "pgs_device_search_steps", "pgs_device_search_cut_total"
    before = [counted(f"{steps}_{each}") for each in ("count", "sum")]
    cut_before = counted(cut)

    found.measures.planned(Plan())
    found.measures.planned(Plan(device_searches=DeviceSearches(steps=300, cut=2)))

    after = [counted(f"{steps}_{each}") for each in ("count", "sum")]
    assert [before[0] + 1, before[1] + 300] == after
    assert cut_before + 2 == counted(cut)
