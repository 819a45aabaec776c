"""Does the steps of a workload on a cluster, and again whatever an outage has kept from being done.

Users see each of their requests through: what was created is there, what was deleted is gone.
"""

import contextlib
import http.client
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from e2e.support import gang_manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from tools import controlplane
from tools.chaos.workload import Gang, Step
from tools.controlplane import access

TROUBLES = (OSError, http.client.HTTPException, controlplane.ControlPlaneError)
AGAIN_SECONDS = 0.2
REQUEST_SECONDS = 15.0
NEVER = (400, 422)
"""What a server says to a request that will never be right."""
NOW = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
NODES, QUEUES = "/api/v1/nodes", "/apis/py-gang-scheduler.io/v1alpha1/queues"
PATIENCE_SECONDS = 180.0


class Users:
    """Does all steps, in a thread. `every` are all gangs that there were, `living` those left."""

    def __init__(self, namespace: Namespace, steps: Sequence[Step]) -> None:
        self.every: dict[str, Gang] = {}
        self.living: dict[str, Gang] = {}
        self.pods = 0
        self.failure: Exception | None = None
        self._namespace = namespace
        self._steps = steps
        self._failed: dict[str, Manifest] = {}
        self._turn = threading.Lock()
        self._client: access.Client | None = None
        self._open = contextlib.ExitStack()
        self._thread = threading.Thread(target=self._run, name="users", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until all is done; raise what kept it from that."""
        self._thread.join()
        self._disconnect()
        if self.failure:
            raise self.failure

    @property
    def is_busy(self) -> bool:
        """Whether steps are left."""
        return self._thread.is_alive()

    def create_again(self, kind: str) -> None:
        """Create the objects of a kind again that are gone with their CRD."""
        with self._turn:
            for gang in self.living.values():
                for each in gang.documents:
                    if each["kind"] == kind:
                        path = gang_manifests.path(self._namespace, each)
                        self._insist("POST", path, each, (201, 409))

    def _run(self) -> None:
        begun = time.monotonic()
        try:
            for step in self._steps:
                time.sleep(max(0.0, begun + step.at - time.monotonic()))
                with self._turn:
                    self._do(step)
        except Exception as error:  # Kept for join().
            self.failure = error

    def _do(self, step: Step) -> None:
        match step.do:
            case "create":
                self._come(step.gangs)
            case "delete":
                self._go(step.gangs)
            case "replace":
                self._replace(step)
            case "cordon" | "uncordon":
                spec = {"unschedulable": step.do == "cordon"}
                # 404: it has failed meanwhile, and comes back as it was before.
                self._insist("PATCH", f"{NODES}/{step.name}", {"spec": spec}, (200, 404))
            case "fail":
                self._fail(step.name)
            case "remove":
                self._insist("DELETE", f"{NODES}/{step.name}", NOW, (200, 404))
            case "return":
                # 409: it was created by a request whose answer was lost.
                self._insist("POST", NODES, self._failed.pop(step.name), (201, 409))
            case "resize":
                self._resize(step)

    def _come(self, gangs: Sequence[Gang]) -> None:
        for gang in gangs:
            self.every[gang.name] = self.living[gang.name] = gang
            self.pods += gang.pods
            for document in gang.documents:
                self._create(document)

    def _go(self, gangs: Sequence[Gang]) -> None:
        for gang in gangs:
            self.living.pop(gang.name)
            for document in gang.documents:
                self._delete(document)

    def _replace(self, step: Step) -> None:
        """Delete a member, and create it again, as its controller would."""
        for gang in step.gangs:
            for each in gang.members:
                if each["metadata"]["name"] == step.name:
                    self._delete(each)
                    self._create(each)
                    self.pods += 1

    def _resize(self, step: Step) -> None:
        """Promise a queue another amount; without its CRD there is none."""
        path = f"{QUEUES}/{step.name}"
        found = self._insist("GET", path, None, (200, 404))
        if found.status == 200:
            found.body["spec"]["quota"] = {"soft": {"cpu": str(step.amount)}}
            # 409: another wrote to it meanwhile. Then this user does without.
            self._insist("PUT", path, found.body, (200, 404, 409))

    def _fail(self, name: str) -> None:
        """Let the kubelet of a node be gone: none of KWOK's looks after such a node."""
        path = f"{NODES}/{name}"
        found = self._insist("GET", path, None, (200,)).body
        metadata = {key: found["metadata"][key] for key in ("name", "labels")}
        self._failed[name] = {"metadata": metadata, "status": found["status"]}
        self._insist("PATCH", path, {"metadata": {"labels": {"type": "failed"}}}, (200,))
        unknown = [{**each, "status": "Unknown"} for each in found["status"]["conditions"]]
        self._insist("PATCH", f"{path}/status", {"status": {"conditions": unknown}}, (200,))

    def _create(self, document: Manifest) -> None:
        # 409: it was created by a request whose answer was lost. 404: its CRD was removed.
        path = gang_manifests.path(self._namespace, document)
        self._insist("POST", path, document, (201, 404, 409))

    def _delete(self, document: Manifest) -> None:
        path = gang_manifests.path(self._namespace, document, document["metadata"]["name"])
        self._insist("DELETE", path, NOW, (200, 202, 404))

    def _insist(
        self, method: str, path: str, body: Mapping[str, Any] | None, done: tuple[int, ...]
    ) -> access.Reply:
        """Ask until the answer is one of those that end it. Raises the last one after minutes."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                reply = self._connected().request(method, path, body)
                if reply.status in done:
                    return reply
                if reply.status in NEVER or time.monotonic() > deadline:
                    reply.check()
            except access.RefusedError:
                raise
            except TROUBLES:
                self._disconnect()
                if time.monotonic() > deadline:
                    raise
            time.sleep(AGAIN_SECONDS)

    def _connected(self) -> access.Client:
        if self._client is None:
            made = access.Client(self._namespace.cluster.access, REQUEST_SECONDS)
            self._client = self._open.enter_context(made)
        return self._client

    def _disconnect(self) -> None:
        self._open.close()
        self._client = None
