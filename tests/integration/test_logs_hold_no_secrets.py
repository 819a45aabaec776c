"""No line of the log, at any level, has a token, a variable of a container, or its arguments."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from integration.support.scripted_server import ScriptedServer
from support.scheduler_process import FakeWorkloads, SchedulerProcess

CANARY = "c4n4ry-7d1f"
KUBECONFIG = f"""\
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: {CANARY}}}}}]
clusters: [{{name: c, cluster: {{server: "SERVER"}}}}]
"""
SECONDS = 60


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[EventDict]]:
    """Give what is logged, level debug included."""
    caplog.set_level(logging.DEBUG, logger="gang_scheduler")
    with capture_logs() as written:
        yield written


def fill_with_canaries(workloads: FakeWorkloads) -> None:
    """Put the canary where users keep secrets, in each pod."""
    for name, pod in workloads.pods().items():
        with workloads.cluster.changing(PODS, pod.namespace, name) as body:
            (container,) = body["spec"]["containers"]
            container |= {
                "env": [{"name": "TOKEN", "value": CANARY}],
                "args": [f"--password={CANARY}"],
                "command": ["sh", "-c", CANARY],
            }
            body["metadata"]["annotations"] = {"example.com/key": CANARY}


@pytest.mark.looptime
async def test_what_pods_keep_to_themselves_is_in_no_line(lines: list[EventDict]) -> None:
    workloads = FakeWorkloads("n0", "n1")
    workloads.gang("fits", 2, priority=1)
    workloads.gang("waits", 9, priority=0)
    workloads.gang("victim", 4, priority=-1, node="n1")
    fill_with_canaries(workloads)
    workloads.gang("preempts", 4, priority=9)
    fill_with_canaries(workloads)

    async with SchedulerProcess(workloads) as process:
        process.api.fail("bind", Fault(ApiError(500, "no")))
        await asyncio.sleep(60)

    assert {"gang_bound", "gang_waits", "preempting", "gang_evicted", "verdict"} <= {
        each["event"] for each in lines
    }
    assert [] == [each for each in lines if CANARY in str(each)]


async def test_the_token_of_a_kubeconfig_is_in_no_line(tmp_path: Path) -> None:
    path = tmp_path / "config"
    async with ScriptedServer([]) as server:
        text = KUBECONFIG.replace("SERVER", str(server.configuration.host))
        await asyncio.to_thread(path.write_text, text)
        written = await logged_until('"request"', "--kubeconfig", str(path))

    assert '"event": "starting"' in written
    assert CANARY not in written


async def logged_until(words: str, *flags: str) -> str:
    """Return what `run` logs at level debug until these words come."""
    command = [sys.executable, "-m", "gang_scheduler", "run", "--log-level", "debug"]
    apart = ("--no-leader-elect", "--http-port", "0")
    process = await asyncio.create_subprocess_exec(
        *command, *apart, *flags, stderr=asyncio.subprocess.PIPE
    )
    written = ""
    try:
        assert process.stderr is not None
        with anyio.fail_after(SECONDS):
            while words not in written:
                line = await process.stderr.readline()
                assert line, written
                written += line.decode()
    finally:
        process.kill()
        await process.wait()
    return written


@pytest.mark.parametrize(
    "broken",
    [
        f"users: [{{token: {CANARY}",
        f"token: {CANARY}\n\tx: 1",
        f"- {CANARY}",
        f'users: {{name: u, user: {{token: "{CANARY}"}}}}\nclusters: 1\ncontexts: []',
        KUBECONFIG.replace("token:", "exec:"),
        KUBECONFIG.replace("token:", "client-certificate-data:"),
    ],
    ids=["open", "tab", "list", "shapes", "exec", "certificate"],
)
def test_a_kubeconfig_that_cannot_be_read_is_not_quoted(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "config"
    path.write_text(broken)
    result: Any = subprocess.run(
        [sys.executable, "-m", "gang_scheduler", "run", "--kubeconfig", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )

    assert 2 == result.returncode
    assert CANARY not in result.stderr + result.stdout
