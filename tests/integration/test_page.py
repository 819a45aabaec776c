"""The page of a cluster on the embedded API server, read with a kubeconfig."""

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import EVENTS, GVR, LEASES, NAMESPACES, NODES, POD_GROUPS, PODS
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Embedded
from gang_scheduler.page.sources import LEAST_SECONDS, OfServer
from gang_scheduler.report.events import CONTROLLER
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import Body, gang, hold, node
from support.pages import Browser, opened

KINDS = {"PodGroup": POD_GROUPS, "Pod": PODS}
PATIENCE_SECONDS = 30.0
ROUNDS = 120


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it: the API server is asked between the requests of the browser."""
    return iter(())


@pytest.fixture
def served() -> Iterator[Embedded]:
    """Run an API server with a node, a gang that runs and one that waits."""
    with cluster.embedded(controllers=False) as found:
        for each in world.definitions():
            cluster.create(found, each.gvr, each.body)
        create(
            found,
            NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        )
        create(found, NODES, node("node-0"))
        for body in gang("waits", 2, gpus=8):
            create(found, KINDS[body["kind"]], body)
        yield found


def create(served: Embedded, gvr: GVR, body: Body) -> None:
    """Create an object as soon as its kind is served."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            cluster.create(served, gvr, body)
        except cluster.DemoFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


@contextlib.asynccontextmanager
async def page_of(served: Embedded, **given: float) -> AsyncIterator[Browser]:
    """Open the page of a server."""
    source = OfServer(str(served.kubeconfig), "", 5.0, "", Policy(), **given)
    async with opened(source) as browser:
        yield browser


async def document(browser: Browser, path: str) -> Body:
    """Return a document of the API, held against its schema."""
    found: Body = json.loads((await browser.get(path)).text)
    hold(found)
    return found


async def until(browser: Browser, path: str, words: str) -> str:
    """Return a screen once it has these words."""
    for _ in range(ROUNDS):
        text = (await browser.get(path)).text
        if words in text:
            return text
        await anyio.sleep(LEAST_SECONDS / 4)
    raise AssertionError(f"{path} has no {words}")


async def test_the_page_shows_a_cluster_as_it_changes(served: Embedded) -> None:
    async with page_of(served) as browser:
        first = await browser.get("/")
        assert "team/</span>waits" in first.text
        assert "no Lease kube-system/py-gang-scheduler" in first.text
        explained = await document(browser, "/api/v1/gangs/team/waits")
        assert "Waits" == explained["verdict"]

        create(served, NODES, node("node-1"))
        await until(browser, "/gangs/team/waits", "node-1")
        explained = await document(browser, "/api/v1/gangs/team/waits")
        assert "Starts" == explained["verdict"]


def asked_from_now(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which the paths of all requests are added from now on."""
    paths, request = list[str](), Connection.request

    async def noted(self: Connection, method: str, path: str, **options: Any) -> bytes:
        paths.append(path)
        return await request(self, method, path, **options)

    monkeypatch.setattr(Connection, "request", noted)
    return paths


def lists(paths: list[str]) -> list[str]:
    """Return the lists of nodes and pods."""
    return [each for each in paths if each.partition("?")[0] in (NODES.path(), PODS.path())]


async def test_a_change_comes_by_watch_without_a_list(
    served: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page_of(served) as browser:
        await browser.get("/")
        paths = asked_from_now(monkeypatch)
        create(served, NODES, node("node-1"))
        await until(browser, "/nodes", "node-1")
        served.request("DELETE", NODES.path("", "node-1"))
        for _ in range(ROUNDS):
            if "node-1" not in (await browser.get("/nodes")).text:
                break
            await anyio.sleep(LEAST_SECONDS / 4)
        else:
            raise AssertionError("/nodes still has node-1")

    assert [] == lists(paths)


async def test_without_the_right_to_watch_the_cluster_is_listed(
    served: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ApiError(403, "you may not watch")

    monkeypatch.setattr(Connection, "stream", refused)
    async with page_of(served) as browser:
        assert "Stale since" not in (await until(browser, "/nodes", "node-0"))
        create(served, NODES, node("node-1"))
        await until(browser, "/nodes", "node-1")
        paths = asked_from_now(monkeypatch)
        create(served, NODES, node("node-2"))
        await until(browser, "/nodes", "node-2")

    assert 0 < len(lists(paths))


async def test_watches_end_while_nothing_is_read_and_begin_anew(
    served: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page_of(served, unasked_seconds=2 * LEAST_SECONDS) as browser:
        await browser.get("/nodes")
        streams, stream = list[str](), Connection.stream

        def noted(self: Connection, path: str, **options: Any) -> Any:
            streams.append(path)
            return stream(self, path, **options)

        monkeypatch.setattr(Connection, "stream", noted)
        await anyio.sleep(4 * LEAST_SECONDS)
        create(served, NODES, node("node-1"))
        await anyio.sleep(LEAST_SECONDS)
        assert [] == streams
        await until(browser, "/nodes", "node-1")

    assert [] != [each for each in streams if each.partition("?")[0] == NODES.path()]


async def test_the_heartbeat_and_the_decisions_are_read(served: Embedded) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    create(
        served,
        LEASES,
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "py-gang-scheduler", "namespace": "kube-system"},
            "spec": {"holderIdentity": "pod-1", "renewTime": now, "leaseDurationSeconds": 15},
        },
    )
    async with page_of(served) as browser:
        text = (await browser.get("/")).text
        overview = await document(browser, "/api/v1/overview")
        decisions = await document(browser, "/api/v1/decisions")

    assert '<b class="figure word good">alive</b>' in text
    assert "pod-1" == overview["scheduler"]["holder"]
    assert [] == decisions["items"]


async def test_a_job_is_tried_on_the_cluster_and_nothing_is_created(served: Embedded) -> None:
    async with page_of(served) as browser:
        found = await browser.get("/try?name=tried&namespace=team&nodes=1&gpus=1")

    assert "It would " in found.text
    assert ["waits"] == [each["metadata"]["name"] for each in cluster.items(served, POD_GROUPS)]
    assert 2 == len(cluster.items(served, PODS))


async def test_without_the_api_server_the_last_view_stays_and_says_so() -> None:
    with contextlib.ExitStack() as running:
        served = running.enter_context(cluster.embedded(controllers=False))
        create(served, NODES, node("node-0"))
        async with page_of(served) as browser:
            assert "Stale since" not in (await browser.get("/")).text
            running.close()
            text = await until(browser, "/", "Stale since")

    assert "the cluster cannot be read" in text
    assert "1 node" in text


def address_of(process: "subprocess.Popen[str]") -> str:
    """Return the address that a page printed."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def shown(address: str, path: str) -> str:
    """Return a screen of a page that runs as a process."""
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(), urllib.request.ProxyHandler({})
    )
    with opener.open(address):
        pass
    with opener.open(address.partition("/?")[0] + path) as answer:
        text: str = answer.read().decode()
    return text


def test_a_page_that_was_killed_knows_what_the_api_server_has_forgotten(
    served: Embedded, tmp_path: Path
) -> None:
    kept = tmp_path / "history"
    command = [sys.executable, "-m", "gang_scheduler", "page", "--history", str(kept)]
    told = f"Preempted by team/{'x' * 20}"
    create(served, EVENTS, event("waits", "Preempted", told))
    for number in range(2):
        process = subprocess.Popen(
            [*command, "--kubeconfig", str(served.kubeconfig)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            text = shown(address_of(process), "/decisions")
        finally:
            process.kill()
            process.communicate()
        assert told in text, number
        assert "A restart of the page keeps them" in text
        for each in cluster.items(served, EVENTS):
            served.request("DELETE", EVENTS.path("team", each["metadata"]["name"]))

    other = subprocess.run(
        [*command, "--kubeconfig", str(served.kubeconfig), "-n", "team"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert 2 == other.returncode
    assert f"--history: {kept}: it is the history of" in other.stderr


def event(name: str, reason: str, note: str) -> Body:
    """Return an Event of the scheduler about a PodGroup."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "team"},
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
        "reportingController": CONTROLLER,
        "reportingInstance": "test",
        "action": "Scheduling",
        "reason": reason,
        "note": note,
        "type": "Normal",
        "regarding": {"kind": "PodGroup", "namespace": "team", "name": name},
    }
