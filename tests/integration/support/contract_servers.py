"""The three servers that the contract of the Api port holds for, as their administrator."""

import asyncio
import copy
from typing import Any, Protocol

from kubernetes_asyncio.client import Configuration

from gang_scheduler.api.kinds import GVR, PERSISTENT_VOLUMES, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import SERVED, FakeCluster
from gang_scheduler.client.interfaces import Api
from gang_scheduler.embedded import server as embedded
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.objects import Deletion, Options
from tools import controlplane

WITHOUT_STATUS = SCHED_PLUGINS_POD_GROUPS
UNUSED = GVR("", "v1", "replicationcontrollers")
"""A kind of which there are no objects anywhere."""
IN_NO_NAMESPACE = {PERSISTENT_VOLUMES}
"""The kinds without a namespace of which tests read objects."""


class Server(Protocol):
    """An API server as its administrator sees it, beside the port under test."""

    api: Api
    namespace: str

    async def create(self, gvr: GVR, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object."""

    async def get(self, gvr: GVR, name: str) -> dict[str, Any]:
        """Return an object, of the namespace if its kind has one."""

    async def delete(self, gvr: GVR, name: str) -> None:
        """Delete an object, of the namespace if its kind has one."""


class FakeServer:
    """The server in memory."""

    namespace = "default"

    def __init__(self) -> None:
        self.cluster = FakeCluster([*SERVED, UNUSED], [WITHOUT_STATUS])
        self.api: Api = FakeApi(self.cluster)

    async def create(self, gvr: GVR, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object."""
        return self.cluster.put(gvr, body)

    async def get(self, gvr: GVR, name: str) -> dict[str, Any]:
        """Return an object, of the namespace if its kind has one."""
        return self.cluster.get(gvr, _where(self, gvr), name)

    async def delete(self, gvr: GVR, name: str) -> None:
        """Delete an object, of the namespace if its kind has one."""
        self.cluster.delete(gvr, _where(self, gvr), name)


class EmbeddedServer:
    """The API server in Python. The administrator's requests go past HTTP and the code under test.

    As the real one of these tests it has no controllers: nothing changes but by a test.
    """

    namespace = "default"

    def __init__(self, server: embedded.Server, api: Api) -> None:
        self.api = api
        self._server = server

    async def create(self, gvr: GVR, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object."""
        served = self._kind(gvr)
        namespace = body["metadata"].get("namespace", "")
        return self._server.objects.create(
            served, namespace, copy.deepcopy(body), Options()
        ).document

    async def get(self, gvr: GVR, name: str) -> dict[str, Any]:
        """Return an object, of the namespace if its kind has one."""
        return self._server.objects.get(self._kind(gvr), _where(self, gvr), name)

    async def delete(self, gvr: GVR, name: str) -> None:
        """Delete an object, of the namespace if its kind has one."""
        self._server.objects.delete(self._kind(gvr), _where(self, gvr), name, Deletion())

    def _kind(self, gvr: GVR) -> Served:
        served = self._server.kinds.find(*gvr)
        assert served is not None, f"{gvr} is not served"
        return served


class RealServer:
    """A kube-apiserver. The administrator's requests go past the code under test."""

    def __init__(self, plane: controlplane.ControlPlane, api: Api, namespace: str) -> None:
        self.plane = plane
        self.api = api
        self.namespace = namespace

    async def create(self, gvr: GVR, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object."""
        return await self._request("POST", self._path(gvr, body["metadata"]), body)

    async def get(self, gvr: GVR, name: str) -> dict[str, Any]:
        """Return an object, of the namespace if its kind has one."""
        path = self._path(gvr, {"namespace": _where(self, gvr)})
        return await self._request("GET", f"{path}/{name}")

    async def delete(self, gvr: GVR, name: str) -> None:
        """Delete an object, of the namespace if its kind has one."""
        path = self._path(gvr, {"namespace": _where(self, gvr)})
        await self._request("DELETE", f"{path}/{name}")

    async def _request(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        answer: dict[str, Any] = await asyncio.to_thread(self.plane.request, method, path, body)
        return answer

    def _path(self, gvr: GVR, metadata: dict[str, Any]) -> str:
        group, version, plural = gvr
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        namespace = metadata.get("namespace", "")
        return f"{path}/namespaces/{namespace}/{plural}" if namespace else f"{path}/{plural}"


def _where(server: Server, gvr: GVR) -> str:
    return "" if gvr in IN_NO_NAMESPACE else server.namespace


def without_status(crd: dict[str, Any]) -> dict[str, Any]:
    """Return the CRD as another product may have it: of its own group, no status subresource."""
    crd = copy.deepcopy(crd)
    crd["spec"]["group"] = WITHOUT_STATUS.group
    crd["metadata"]["name"] = f"{WITHOUT_STATUS.plural}.{WITHOUT_STATUS.group}"
    crd["spec"]["names"].pop("shortNames")
    crd["spec"]["versions"][0].pop("subresources")
    return crd


def configuration(plane: controlplane.ControlPlane) -> Configuration:
    """Return the way to the control plane, without reading its kubeconfig."""
    found = Configuration(host=plane.url)
    found.ssl_ca_cert = str(plane.ca_file)
    found.api_key = {"BearerToken": f"Bearer {plane.token}"}
    return found
