"""What every source promises: the cache comes to be what the API server has, whichever that is."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from kubernetes_asyncio.client import Configuration

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
)
from gang_scheduler.client.connection import Connection
from gang_scheduler.demo import cluster
from gang_scheduler.demo.cluster import DemoFailed, Embedded
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, list_watch
from gang_scheduler.watch.synced import Source
from integration.support import contract_servers
from integration.support.breakable_link import BreakableLink
from integration.support.running_sources import PATIENCE_SECONDS, running, source_of
from support import cache_feeding, yaml_texts
from support.builders import SCHEDULER
from tools import controlplane

CRDS = Path(__file__).parents[2] / "crds"
POD_GROUP_CRD = (CRDS / "podgroups.scheduling.sigs.k8s.io.yaml").read_text()
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SWEEP_SECONDS = 1.0

numbers = itertools.count()


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it, other than elsewhere: Kopf reads files on the event loop."""
    return iter(())


class InPython:
    """The embedded API server as these tests use a control plane."""

    def __init__(self, found: Embedded) -> None:
        self.url = found.url
        self.request = found.request
        self._server = found._server
        self.request("POST", CRD_PATH, yaml_texts.read(POD_GROUP_CRD))

    @property
    def configuration(self) -> Configuration:
        """The way to it."""
        return Configuration(host=self.url)

    def restart(self, name: str, *, graceful: bool) -> None:  # noqa: ARG002 - there is one program.
        """Forget what has changed so far, as an API server does that is started again."""
        self._server.changes.compact()

    def kubectl(self, *words: str) -> None:
        """Delete a CRD; those that are there are served at once."""
        if words[0] == "delete":
            with contextlib.suppress(DemoFailed):
                self.request("DELETE", f"{CRD_PATH}/{words[2]}")


class Real:
    """A control plane."""

    def __init__(self, plane: controlplane.ControlPlane) -> None:
        self.url = plane.url
        self.request = plane.request
        self.restart = plane.restart
        self.kubectl = plane.kubectl
        self.configuration = contract_servers.configuration(plane)


Site = InPython | Real


class Watched:
    """A control plane that a source watches. What tests do to it goes past the link."""

    def __init__(self, plane: Site, link: BreakableLink, cache: Cache) -> None:
        self.plane = plane
        self.link = link
        self.cache = cache
        self.namespace = f"sources-{next(numbers)}"

    async def create(self, gvr: GVR, name: str, **fields: Any) -> str:
        """Create an object and return its uid; one in the namespace, if its kind has any."""
        namespace = "" if gvr in (NODES, NAMESPACES, CLUSTER_NETWORK_TOPOLOGIES) else None
        path = gvr.path(self.namespace if namespace is None else "")
        made = await self._request("POST", path, {"metadata": {"name": name}, **fields})
        return str(made["metadata"]["uid"])

    async def pod(self, name: str) -> str:
        """Create a pod that no scheduler takes, and return its uid."""
        containers = [{"name": "c", "image": "example.com/none"}]
        spec = {"schedulerName": "nobody", "containers": containers}
        return await self.create(PODS, f"{self.namespace}-{name}", spec=spec)

    async def delete_pod(self, name: str) -> None:
        """Delete a pod."""
        path = PODS.path(self.namespace, f"{self.namespace}-{name}")
        await self._request("DELETE", path)

    async def bind(self, name: str, node: str) -> None:
        """Bind a pod."""
        path = PODS.path(self.namespace, f"{self.namespace}-{name}") + "/binding"
        target = {"kind": "Node", "name": node}
        metadata = {"name": f"{self.namespace}-{name}"}
        await self._request("POST", path, {"metadata": metadata, "target": target})

    def pods(self) -> dict[str, str]:
        """Return the nodes of the pods of this test, as the cache has them."""
        found = (pod for pod in self.cache.pods() if pod.namespace == self.namespace)
        return {pod.name.rpartition("-")[2]: pod.node for pod in found}

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until something is so."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while not done():  # noqa: ASYNC110 - what is waited for has no event of its own.
                await asyncio.sleep(0.02)

    async def _request(self, method: str, path: str, body: Any = None) -> Any:
        return await asyncio.to_thread(self.plane.request, method, path, body)


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.e2e)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Start each of the servers, outside of any event loop."""
    if request.param == "real":
        yield Real(request.getfixturevalue("plane"))
        return
    with cluster.embedded(controllers=False) as found:
        yield InPython(found)


@pytest.fixture(params=list(PodSource))
def kind(request: pytest.FixtureRequest, site: Site) -> PodSource:  # noqa: ARG001 - the server starts outside of any event loop.
    found: PodSource = request.param
    return found


@pytest.fixture
async def watched(site: Site, kind: PodSource) -> AsyncIterator[tuple[Watched, Source]]:
    """Give a namespace of the test's own, with a pod `old` in it, and a source that can start."""
    cache = Cache([SCHEDULER], Changes())
    async with BreakableLink(site.url) as link:
        configuration = site.configuration
        configuration.host = link.url
        found = Watched(site, link, cache)
        await found.create(NAMESPACES, found.namespace)
        await found.pod("old")
        async with Connection(configuration) as connection:
            event_handlers = cache_feeding.event_handlers(cache)
            yield found, source_of(kind, connection, event_handlers, SWEEP_SECONDS)


Given = tuple[Watched, Source]


async def test_after_the_first_lists_all_that_was_there_is_known(watched: Given) -> None:
    found, source = watched
    spec = {"minMember": 2}
    group = await found.create(
        POD_GROUPS, "g", apiVersion="scheduling.sigs.k8s.io/v1alpha1", kind="PodGroup", spec=spec
    )

    async with running(source):
        assert {"old": ""} == found.pods()
        assert group in cache_feeding.uids(found.cache, POD_GROUPS)


async def test_changes_are_reported(watched: Given) -> None:
    found, source = watched
    async with running(source):
        await found.pod("new")
        await found.until(lambda: "new" in found.pods())
        await found.bind("new", "n1")
        await found.until(lambda: found.pods()["new"] == "n1")
        await found.delete_pod("old")

        await found.until(lambda: found.pods() == {"new": "n1"})


async def test_kinds_without_a_namespace_are_reported(watched: Given) -> None:
    found, source = watched
    async with running(source):
        node = await found.create(NODES, found.namespace)
        namespace = await found.create(NAMESPACES, f"{found.namespace}-b")

        await found.until(lambda: node in cache_feeding.uids(found.cache, NODES))
        await found.until(lambda: namespace in cache_feeding.uids(found.cache, NAMESPACES))


async def test_what_happens_during_an_outage_is_known_afterwards(watched: Given) -> None:
    found, source = watched
    async with running(source):
        await found.pod("gone")
        await found.pod("bound")
        await found.until(lambda: {"old", "gone", "bound"} == found.pods().keys())

        found.link.cut()
        await found.delete_pod("gone")
        await found.bind("bound", "n1")
        await found.pod("new")
        await asyncio.sleep(1)
        found.link.mend()

        await found.until(lambda: found.pods() == {"old": "", "bound": "n1", "new": ""})
        await source.catch_up()


async def test_an_api_server_that_forgot_the_version_is_listed_anew(watched: Given) -> None:
    found, source = watched
    async with running(source):
        await found.pod("gone")
        await found.until(lambda: {"old", "gone"} == found.pods().keys())

        found.link.cut()
        await found.delete_pod("gone")
        # Its memory begins with its start.
        await asyncio.to_thread(found.plane.restart, "kube-apiserver", graceful=True)
        await found.pod("new")
        found.link.mend()

        await found.until(lambda: found.pods() == {"old": "", "new": ""})


async def test_what_a_stalled_watch_does_not_tell_is_known_after_catching_up(
    watched: Given,
) -> None:
    found, source = watched
    async with running(source):
        await found.pod("gone")
        await found.pod("bound")
        await found.until(lambda: {"old", "gone", "bound"} == found.pods().keys())

        stalled = found.link.stall()
        await found.delete_pod("gone")
        await found.bind("bound", "n1")
        await found.pod("new")
        await source.catch_up()

        now = {"old": "", "bound": "n1", "new": ""}
        assert now == found.pods()
        # What comes late is no news.
        stalled.set()
        await found.pod("last")
        await found.until(lambda: "last" in found.pods())
        assert {**now, "last": ""} == found.pods()


async def test_a_watch_that_stalls_is_begun_again(
    watched: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, source = watched
    monkeypatch.setattr(list_watch, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(kopf, "SILENT_SECONDS", 1.0)
    async with running(source):
        stalled = found.link.stall()
        await found.pod("new")

        await found.until(lambda: "new" in found.pods())
        stalled.set()


class Trees:
    """The CRD of ClusterNetworkTopology, which a user installs, uses and removes."""

    def __init__(self, found: Watched) -> None:
        self._found = found
        self._crd = yaml_texts.read(
            (CRDS / "clusternetworktopologies.scheduling.koordinator.sh.yaml").read_text()
        )

    async def install(self) -> None:
        """Install the CRD."""
        await asyncio.to_thread(self._found.plane.request, "POST", CRD_PATH, self._crd)
        name = f"crd/{CLUSTER_NETWORK_TOPOLOGIES.name}"
        await self._kubectl("wait", "--for=condition=Established", name)

    async def create(self) -> str:
        """Create a tree of racks, and return its uid."""
        layer = {"topologyLayer": "RackLayer", "labelKey": ["rack"], "parentTopologyLayer": ""}
        return await self._found.create(
            CLUSTER_NETWORK_TOPOLOGIES,
            "default",
            apiVersion=CLUSTER_NETWORK_TOPOLOGIES.api_version,
            kind="ClusterNetworkTopology",
            spec={"networkTopologySpec": [layer]},
        )

    async def remove(self) -> None:
        """Remove the CRD, and with it all trees."""
        name = CLUSTER_NETWORK_TOPOLOGIES.name
        await self._kubectl("delete", "crd", name, "--ignore-not-found")

    def known(self) -> Collection[str]:
        """Return the uids of those in the cache."""
        return cache_feeding.uids(self._found.cache, CLUSTER_NETWORK_TOPOLOGIES)

    async def _kubectl(self, *words: str) -> None:
        await asyncio.to_thread(self._found.plane.kubectl, *words)


@pytest.fixture
async def trees(watched: Given) -> AsyncIterator[Trees]:
    found, _ = watched
    installed = Trees(found)
    yield installed
    await installed.remove()


async def test_a_kind_is_watched_for_as_long_as_its_crd_is_there(
    watched: Given, trees: Trees
) -> None:
    found, source = watched
    async with running(source):
        await trees.install()
        uid = await trees.create()
        await found.until(lambda: uid in trees.known())
        await trees.remove()

        await found.until(lambda: not trees.known())


async def test_a_kind_is_watched_although_no_watch_showed_its_crd(
    watched: Given, trees: Trees
) -> None:
    found, source = watched
    async with running(source):
        found.link.cut()
        await trees.install()
        uid = await trees.create()
        # Its memory begins with its start.
        await asyncio.to_thread(found.plane.restart, "kube-apiserver", graceful=True)
        found.link.mend()

        await found.until(lambda: uid in trees.known())
