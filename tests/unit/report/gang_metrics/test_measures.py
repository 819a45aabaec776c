"""All measures together: shown now and then, whatever goes wrong with one."""

import asyncio

import pytest

from gang_scheduler.report import gang_metrics
from support.measured import Measured
from support.metric_values import until_shown


async def test_gauges_are_shown_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gang_metrics, "LEAST_SECONDS", 0.01)
    found = Measured()
    running = asyncio.create_task(found.measures.run())
    await until_shown(2, "pgs_nodes", state="ready")
    found.gang("a")

    await until_shown(1, "pgs_gangs", job_type="PodGroup", phase="PreScheduling")
    running.cancel()
