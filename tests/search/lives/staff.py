"""What else is at work in a cluster: kubelets, and controllers that create pods again."""

import asyncio
import copy
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.client.fake.cluster import Change, Document, FakeCluster

KUBELET = "search.example.com/kubelet"


class Staff:
    """Lets pods start, end and come again. `made` counts the pods of each name that there were.

    A member of a gang, and every other single pod, is created again once it is gone, under the same
    name and with another uid. What has failed is deleted.
    """

    def __init__(self, cluster: FakeCluster, dice: Random, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._dice = dice
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self.made: dict[str, int] = {}
        self.again = True
        cluster.watchers.append(self._hear)

    def admit(self, body: Document) -> None:
        """Add a pod as an API server and a kubelet have it: it terminates until it has ended."""
        pod = copy.deepcopy(body)
        metadata = pod["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        self.made[key] = self.made.get(key, 0) + 1
        metadata["uid"] = f"{key}-{self.made[key]}"
        metadata["finalizers"] = [KUBELET]
        leaves = metadata.pop("deletionTimestamp", None)
        self._cluster.put(PODS, pod)
        if leaves:
            self._cluster.delete(PODS, metadata["namespace"], metadata["name"])

    def moment(self) -> str:
        """Return the time as Kubernetes writes it."""
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""

        async def later() -> None:
            await asyncio.sleep(seconds)
            act()

        task = asyncio.create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hear(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr != PODS:
            return
        metadata = document["metadata"]
        if change == "DELETED":
            if self.again and _is_kept_up(document):
                self.after(self._dice.choice((0.1, 1, 3)), lambda: self._create(document))
        elif metadata.get("deletionTimestamp"):
            grace = self._dice.choice((0.5, 3, 15)) if document["spec"].get("nodeName") else 0.1
            self.after(grace, lambda: self._end(document))
        elif document["spec"].get("nodeName") and document["status"]["phase"] == "Pending":
            self.after(1, lambda: self._run(document))
        elif document["status"]["phase"] == "Failed":
            self.after(0.5, lambda: self._delete(document))

    def _create(self, gone: Document) -> None:
        body = copy.deepcopy(gone)
        metadata = body["metadata"]
        if self._cluster.has(PODS, metadata["namespace"], metadata["name"]):
            return
        for name in ("deletionTimestamp", "resourceVersion", "generation", "uid"):
            metadata.pop(name, None)
        metadata["creationTimestamp"] = self.moment()
        own = metadata.get("annotations") or {}
        metadata["annotations"] = {k: v for k, v in own.items() if "py-gang-scheduler" not in k}
        body["spec"].pop("nodeName", None)
        self.admit({**body, "status": {"phase": "Pending"}})

    def _end(self, body: Document) -> None:
        metadata = body["metadata"]
        if self._is_same(body):
            self._cluster.remove(PODS, metadata["namespace"], metadata["name"])

    def _run(self, body: Document) -> None:
        metadata = body["metadata"]
        if self._is_same(body):
            with self._cluster.changing(PODS, metadata["namespace"], metadata["name"]) as found:
                if found["status"]["phase"] == "Pending":
                    found["status"] |= {"phase": "Running", "startTime": self.moment()}

    def _delete(self, body: Document) -> None:
        metadata = body["metadata"]
        if self._is_same(body):
            self._cluster.delete(PODS, metadata["namespace"], metadata["name"])

    def _is_same(self, body: Document) -> bool:
        metadata = body["metadata"]
        where = metadata["namespace"], metadata["name"]
        if not self._cluster.has(PODS, *where):
            return False
        return bool(self._cluster.get(PODS, *where)["metadata"]["uid"] == metadata["uid"])


def _is_kept_up(body: Document) -> bool:
    """Tell a pod that a controller creates again: a member of a gang, or every other single one."""
    metadata = body["metadata"]
    single = metadata["name"][-1] in "02468"
    return single or "member-of" in (metadata.get("labels") or {})
