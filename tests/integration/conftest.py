"""The servers that the contract holds for, and the guard against blocking the loop."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import blockbuster
import prometheus_client
import pytest
import structlog
from kubernetes_asyncio.client import Configuration

from gang_scheduler.client import connection
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.kubernetes import KubernetesApi
from gang_scheduler.embedded import server as server_in_python
from gang_scheduler.settings.choices import HttpClientName
from integration.support import contract_servers
from support import yaml_texts
from tools import controlplane

# What the first watch, count and line of a process import: in a test that would block its loop.
connection.import_for_watches()
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # it has no annotations
assert structlog.get_logger()

CRDS = Path(__file__).parents[2] / "crds"
POD_GROUP = (CRDS / "podgroups.scheduling.sigs.k8s.io.yaml").read_text()
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Fail a test that blocks the event loop."""
    with blockbuster.blockbuster_ctx():
        yield


@pytest.fixture(scope="session")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Start one API server for all contract tests, with both kinds of PodGroup."""
    options = controlplane.Options(kwok=False, controller_manager=False)
    with controlplane.start(options) as started:
        ours = yaml_texts.read(POD_GROUP)
        for crd in (ours, contract_servers.without_status(ours)):
            started.request("POST", CRD_PATH, crd)
            started.kubectl("wait", "--for=condition=Established", f"crd/{crd['metadata']['name']}")
        yield started


@pytest.fixture(params=HttpClientName)
def http_client(request: pytest.FixtureRequest) -> HttpClientName:
    """Name each of the clients."""
    return cast("HttpClientName", request.param)


numbers = itertools.count()
REAL = [pytest.param(each, marks=pytest.mark.e2e, id=f"real-{each}") for each in HttpClientName]
EMBEDDED = [f"embedded-{each}" for each in HttpClientName]
Started = controlplane.ControlPlane | server_in_python.Server
Plane = tuple[Started, HttpClientName]


@pytest.fixture(params=["fake", *EMBEDDED, *REAL])
def plane_unless_fake(request: pytest.FixtureRequest) -> Plane | None:
    """Make what blocks outside of any event loop, when it is asked for, with a client."""
    if request.param == "fake":
        return None
    if request.param in EMBEDDED:
        return embedded(), HttpClientName(request.param.partition("-")[2])
    return request.getfixturevalue("plane"), request.param


@pytest.fixture
async def server(
    request: pytest.FixtureRequest, plane_unless_fake: Plane | None
) -> AsyncIterator[contract_servers.Server]:
    """Give the fake, the embedded one, and the real API server with a namespace for the test."""
    if plane_unless_fake is None:
        yield contract_servers.FakeServer()
        return
    plane, http_client = plane_unless_fake
    if isinstance(plane, server_in_python.Server):
        async with plane:
            configuration = Configuration(host=plane.url)
            async with Connection(configuration, http_client=http_client) as connection:
                yield contract_servers.EmbeddedServer(plane, KubernetesApi(connection))
        return
    namespace = re.sub("[^a-z0-9]+", "-", f"n{next(numbers)}-{request.node.name}")[:60].strip("-")
    body = {"metadata": {"name": namespace}}
    await asyncio.to_thread(plane.request, "POST", "/api/v1/namespaces", body)
    configuration = contract_servers.configuration(plane)
    async with Connection(configuration, http_client=http_client) as connection:
        yield contract_servers.RealServer(plane, KubernetesApi(connection), namespace)


def embedded() -> server_in_python.Server:
    """Return an API server in Python, with both kinds of PodGroup."""
    found = server_in_python.Server(controllers=False)
    ours = yaml_texts.read(POD_GROUP)
    for crd in (ours, contract_servers.without_status(ours)):
        found.install(crd)
    return found
