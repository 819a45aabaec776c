"""The page in a browser while the operator and the API server are stopped and started again."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from e2e.test_page_in_chromium import opened
from support.chromium import chromium
from tools import controlplane

pytestmark = pytest.mark.e2e

STALE = "document.getElementById('stale').textContent"
BEAT = "document.querySelector('#tiles .word').parentElement.innerText"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, because the test stops it."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


async def test_the_screen_says_since_when_it_knows_nothing_new_and_recovers(
    plane: controlplane.ControlPlane,
) -> None:
    with (
        controlplane.Scheduler(plane, "--leader-elect") as operator,
        opened(plane.kubeconfig) as address,
    ):
        async with chromium() as tab:
            await tab.open(address)
            await tab.until(f"{BEAT}.includes('alive')")
            await tab.value("window.loaded = true")

            await anyio.to_thread.run_sync(operator.kill)
            await tab.until(f"{BEAT}.includes('silent')")
            assert "renewed its Lease" in await tab.value(BEAT)

            await anyio.to_thread.run_sync(plane.stop_component, "kube-apiserver")
            await tab.until(f"{STALE}.startsWith('Stale since')")
            assert "silent" in await tab.value(BEAT)
            await anyio.to_thread.run_sync(plane.start_component, "kube-apiserver")
            await tab.until(f"{STALE} === ''")

            await anyio.to_thread.run_sync(operator.start)
            await tab.until(f"{BEAT}.includes('alive')")
            assert await tab.value("window.loaded"), "the screen was loaded again"
            assert [] == tab.errors
