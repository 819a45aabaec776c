"""Stands in for the controllers of Kubernetes and the kubelets. Each reacts to changes.

Jobs get pods and counts. Objects are deleted with their owners and namespaces. Budgets count,
claims and volumes are bound, and pods with a node run. No container is started anywhere.
"""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gang_scheduler.api.kinds import (
    GVR,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STORAGE_CLASSES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.cluster import Document, now, set_condition
from gang_scheduler.decode import cluster
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.objects import Deletion, Objects, Options
from gang_scheduler.embedded.refusals import Refused
from gang_scheduler.model.resources import parse_quantity
from gang_scheduler.model.selectors import hold
from gang_scheduler.workloads import jobs
from gang_scheduler.workloads.controllers import has_ended, is_active, is_deleting, is_ready, phase

Key = tuple[GVR, str, str]
"""The key of an object: kind, namespace and name."""
RUNNING: Final = ("Initialized", "Ready", "ContainersReady")
WITHOUT_OWNER: Final = Deletion(propagation="Background")
SETTLED: Final = "pv.kubernetes.io/bind-completed"
WAITS: Final = "WaitForFirstConsumer"
DISRUPTED: Final = "DisruptionTarget"


class Controllers:
    """All controllers. They see changes in order, and their own changes as well."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._cluster = objects.cluster
        # The latest failures, which are visible only here.
        self.problems: deque[str] = deque(maxlen=20)
        self._dirty: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        # By uid: the object, and the objects that it owns.
        self._uids: dict[str, Key] = {}
        self._owned: defaultdict[str, set[Key]] = defaultdict(set)
        self._owners: dict[Key, tuple[str, tuple[str, ...]]] = {}
        self._on_node: defaultdict[str, set[Key]] = defaultdict(set)
        self._cluster.watchers.append(self._note)
        self._steps: Mapping[GVR, Callable[[str, str], None]] = {
            JOBS: self._job,
            NAMESPACES: lambda _, name: self._namespace(name),
            NODES: lambda _, name: self._node(name),
            PERSISTENT_VOLUMES: lambda _, name: self._volume(name),
            PERSISTENT_VOLUME_CLAIMS: self._claim,
            POD_DISRUPTION_BUDGETS: self._budget,
            PODS: self._pod,
        }

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop working."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def settle(self) -> None:
        """Handle all pending changes."""
        while self._dirty:
            self._step(self._dirty.popleft())

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._dirty:
                self._step(self._dirty.popleft())
                # Requests get a turn between two objects.
                await asyncio.sleep(0)

    def _step(self, key: Key) -> None:
        self._queued.discard(key)
        try:
            self._collect(key)
            if key[0] in self._steps and self._cluster.has(*key):
                self._steps[key[0]](*key[1:])
        except (ApiError, InvalidField, Refused) as error:
            # The next change leads to the next attempt.
            self.problems.append(f"{key[0].plural} {key[1]}/{key[2]}: {error}")

    def _note(self, gvr: GVR, verb: str, document: Document) -> None:
        metadata = document["metadata"]
        key = (gvr, metadata.get("namespace", ""), metadata["name"])
        if verb == "DELETED":
            self._uids.pop(metadata["uid"], None)
        else:
            self._uids[metadata["uid"]] = key
        self._note_owners(key, document, is_there=verb != "DELETED")
        self._enqueue(key)
        if verb == "DELETED":
            for each in self._owned.pop(metadata["uid"], ()):
                self._enqueue(each)
            if metadata.get("namespace"):
                self._ask_namespace(metadata["namespace"])

    def _note_owners(self, key: Key, document: Document, *, is_there: bool) -> None:
        """Remember the owners of an object, and queue its Job and the budgets of its namespace."""
        metadata = document["metadata"]
        owners = tuple(each["uid"] for each in metadata.get("ownerReferences") or ())
        for uid in self._owners.pop(key, ("", ()))[1]:
            self._owned[uid].discard(key)
        if is_there and owners:
            self._owners[key] = (metadata["uid"], owners)
            for uid in owners:
                self._owned[uid].add(key)
        if key[0] == PODS:
            for uid in owners:
                if (owner := self._uids.get(uid)) and owner[0] == JOBS:
                    self._enqueue(owner)
            for where, name in self._cluster.documents(POD_DISRUPTION_BUDGETS):
                if where == key[1]:
                    self._enqueue((POD_DISRUPTION_BUDGETS, where, name))
            if node := document.get("spec", {}).get("nodeName"):
                (self._on_node[node].add if is_there else self._on_node[node].discard)(key)

    def _enqueue(self, key: Key) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._dirty.append(key)
        self._woken.set()

    def _ask_namespace(self, name: str) -> None:
        found = self._cluster.documents(NAMESPACES).get(("", name))
        if found is not None and is_deleting(found):
            self._enqueue((NAMESPACES, "", name))

    def _served(self, gvr: GVR) -> Served | None:
        return next((each for each in self._objects.kinds.all() if each.key == gvr), None)

    def _delete(self, key: Key, asked: Deletion = WITHOUT_OWNER) -> None:
        served = self._objects.kinds.find(*key[0]) or self._served(key[0])
        if served is not None and self._cluster.has(*key):
            self._objects.delete(served, key[1], key[2], asked)

    def _collect(self, key: Key) -> None:
        """Delete an object whose owners are all gone, if their kinds are served."""
        if key not in self._owners or not self._cluster.has(*key):
            return
        uid, owners = self._owners[key]
        document = self._cluster.documents(key[0])[key[1:]]
        if is_deleting(document) or any(owner in self._uids for owner in owners):
            return
        references = document["metadata"]["ownerReferences"]
        known = [
            self._objects.kinds.by_name(str(each.get("apiVersion")), str(each.get("kind")))
            for each in references
        ]
        if all(known):
            self._delete(key, Deletion(uid=uid))

    # Pods, as kubelets and the collector of pods without a node handle them.

    def _pod(self, namespace: str, name: str) -> None:
        pod = self._cluster.documents(PODS)[namespace, name]
        node = pod["spec"].get("nodeName", "")
        if not node or not self._cluster.has(NODES, "", node):
            return
        if is_deleting(pod):
            uid = pod["metadata"]["uid"]
            if pod["metadata"].get("deletionGracePeriodSeconds"):
                self._delete((PODS, namespace, name), Deletion(grace_seconds=0, uid=uid))
        elif pod["status"].get("phase") == "Pending":
            with self._cluster.changing(PODS, namespace, name) as found:
                _run(found)

    def _node(self, name: str) -> None:
        """Let pods run that were assigned to the node before it existed."""
        for key in list(self._on_node.get(name, ())):
            self._enqueue(key)

    # Jobs.

    def _job(self, namespace: str, name: str) -> None:
        job = self._cluster.documents(JOBS)[namespace, name]
        uid = job["metadata"]["uid"]
        keys = [each for each in self._owned.get(uid, ()) if each[0] == PODS]
        present = [self._cluster.documents(PODS)[each[1:]] for each in keys]
        status = job.get("status", {})
        if is_deleting(job) or _has_condition(job, "Complete", "Failed"):
            return
        if job["spec"].get("suspend"):
            for key, pod in zip(keys, present, strict=True):
                if is_active(pod):
                    self._delete(key)
        else:
            made = list(jobs.pods_of(job, present))
            present += [self._create_pod(job, each) for each in made]
        counted = _counted(job, present)
        if counted != status:
            with self._cluster.changing(JOBS, namespace, name) as found:
                found["status"] = counted
        if _has_condition({"status": counted}, "Complete", "Failed"):
            for key, pod in zip(keys, present, strict=False):
                if is_active(pod):
                    self._delete(key)

    def _create_pod(self, job: Document, made: Mapping[str, Any]) -> Document:
        """Create a pod of a Job as `simulate` would, under an unused name."""
        metadata, spec = dict(made["metadata"]), dict(made["spec"])
        index = metadata.get("annotations", {}).get(jobs.INDEX)
        prefix = job["metadata"]["name"] if index is None else metadata["name"]
        for key in ("name", "uid", "creationTimestamp"):
            metadata.pop(key, None)
        metadata["generateName"] = f"{prefix}-"
        if index is not None:
            spec.setdefault("hostname", prefix)
        for each in metadata["ownerReferences"]:
            each["blockOwnerDeletion"] = True
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        namespace = job["metadata"]["namespace"]
        return self._objects.create(self._objects.served_pods, namespace, body, Options()).document

    # Namespaces.

    def _namespace(self, name: str) -> None:
        """Delete the objects of a namespace that is being deleted, and in the end the namespace."""
        found = self._cluster.documents(NAMESPACES)["", name]
        if not is_deleting(found):
            return
        left = False
        for served in {each.key: each for each in self._objects.kinds.all()}.values():
            if not served.namespaced:
                continue
            for where, each in list(self._cluster.documents(served.key)):
                if where == name:
                    document = self._cluster.documents(served.key)[where, each]
                    if not is_deleting(document):
                        self._delete((served.key, where, each))
                    left = left or self._cluster.has(served.key, where, each)
        if not left and not found["metadata"].get("finalizers"):
            self._cluster.remove(NAMESPACES, "", name)

    # Budgets.

    def _budget(self, namespace: str, name: str) -> None:
        budget = self._cluster.documents(POD_DISRUPTION_BUDGETS)[namespace, name]
        read = cluster.read_uncounted(budget)
        covered = [
            pod
            for (where, _), pod in self._cluster.documents(PODS).items()
            if where == namespace
            and read.selector is not None
            and hold(read.selector, pod["metadata"].get("labels") or {})
            and not has_ended(pod)
        ]
        expected = len(covered)
        healthy = sum(is_ready(pod) and not is_deleting(pod) for pod in covered)
        desired = read.least_healthy(expected)
        status = {
            "observedGeneration": budget["metadata"]["generation"],
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
        }
        if budget.get("status") != status:
            with self._cluster.changing(POD_DISRUPTION_BUDGETS, namespace, name) as found:
                found["status"] = status

    # Volumes.

    def _volume(self, name: str) -> None:
        """Mark a volume as available, or bind it to the claim that it is reserved for."""
        volume = self._cluster.documents(PERSISTENT_VOLUMES)["", name]
        reserved = volume["spec"].get("claimRef")
        if not reserved:
            self._set_phase(PERSISTENT_VOLUMES, "", name, "Available")
            for where, each in list(self._cluster.documents(PERSISTENT_VOLUME_CLAIMS)):
                self._enqueue((PERSISTENT_VOLUME_CLAIMS, where, each))
            return
        key = (reserved.get("namespace", ""), reserved.get("name", ""))
        claim = self._cluster.documents(PERSISTENT_VOLUME_CLAIMS).get(key)
        uid = reserved.get("uid")
        if claim is None or (uid and uid != claim["metadata"]["uid"]):
            self._set_phase(PERSISTENT_VOLUMES, "", name, "Released" if uid else "Available")
            return
        if claim["spec"].get("volumeName", name) == name:
            self._bind_claim(volume, claim)

    def _claim(self, namespace: str, name: str) -> None:
        """Bind a claim to the volume that it names, or to a free volume of its class."""
        claim = self._cluster.documents(PERSISTENT_VOLUME_CLAIMS)[namespace, name]
        if claim.get("status", {}).get("phase") == "Bound":
            return
        volumes = self._cluster.documents(PERSISTENT_VOLUMES)
        named = claim["spec"].get("volumeName")
        mine = [
            volume
            for volume in volumes.values()
            if (volume["spec"].get("claimRef") or {}).get("name") == name
            and volume["spec"]["claimRef"].get("namespace") == namespace
        ]
        if mine:
            self._enqueue((PERSISTENT_VOLUMES, "", mine[0]["metadata"]["name"]))
        elif named and ("", named) in volumes and not volumes["", named]["spec"].get("claimRef"):
            self._bind_claim(volumes["", named], claim)
        elif not named and not self._waits_for_pod(claim):
            fitting = [each for each in volumes.values() if _fits(each, claim)]
            if fitting:
                self._bind_claim(min(fitting, key=_size), claim)

    def _waits_for_pod(self, claim: Document) -> bool:
        name = claim["spec"].get("storageClassName", "")
        found = self._cluster.documents(STORAGE_CLASSES).get(("", name), {})
        return found.get("volumeBindingMode") == WAITS

    def _bind_claim(self, volume: Document, claim: Document) -> None:
        """Bind a claim and a volume to each other."""
        about, of = claim["metadata"], volume["metadata"]
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": about["namespace"],
            "name": about["name"],
            "uid": about["uid"],
        }
        with self._cluster.changing(PERSISTENT_VOLUMES, "", of["name"]) as found:
            found["spec"]["claimRef"] = {**(found["spec"].get("claimRef") or {}), **reference}
            found["status"] = {**found.get("status", {}), "phase": "Bound"}
        place = (PERSISTENT_VOLUME_CLAIMS, about["namespace"], about["name"])
        with self._cluster.changing(*place) as found:
            found["spec"]["volumeName"] = of["name"]
            found["metadata"].setdefault("annotations", {})[SETTLED] = "yes"
            given = {key: volume["spec"].get(key) for key in ("accessModes", "capacity")}
            found["status"] = {**found.get("status", {}), **given, "phase": "Bound"}

    def _set_phase(self, gvr: GVR, namespace: str, name: str, now_is: str) -> None:
        with self._cluster.changing(gvr, namespace, name) as found:
            found["status"] = {**found.get("status", {}), "phase": now_is}


def _run(pod: Document) -> None:
    """Mark the containers of a pod as running, in place."""
    at, status = now(), pod["status"]
    status |= {"phase": "Running", "startTime": at, "hostIP": "127.0.0.1"}
    for kind in RUNNING:
        set_condition(pod, {"type": kind, "status": "True", "lastTransitionTime": at})
    status["containerStatuses"] = [
        {
            "name": each["name"],
            "image": each.get("image", ""),
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": at}},
        }
        for each in pod["spec"]["containers"]
    ]


def _counted(job: Document, present: Iterable[Mapping[str, Any]]) -> Document:
    """Return the status of a Job that has these pods."""
    pods = list(present)
    phases = [*map(phase, pods)]
    spec, before = job["spec"], job.get("status", {})
    active = [pod for pod in pods if is_active(pod)]
    succeeded = phases.count("Succeeded")
    failed = sum(map(_has_failed, pods))
    numbers = {
        "active": len(active),
        "ready": sum(map(is_ready, active)),
        "terminating": sum(is_deleting(pod) and not has_ended(pod) for pod in pods),
        "succeeded": succeeded,
        "failed": failed,
    }
    status: Document = {key: value for key, value in numbers.items() if value or key in ALWAYS}
    status["uncountedTerminatedPods"] = {}
    suspended = bool(spec.get("suspend"))
    if not suspended:
        status["startTime"] = before.get("startTime") or now()
    conditions = [dict(each) for each in before.get("conditions", ())]
    if suspended or any(each["type"] == "Suspended" for each in conditions):
        _set_condition(conditions, "Suspended", "True" if suspended else "False")
    wanted = spec.get("completions")
    ended = wanted is not None and succeeded >= wanted
    if ended or (wanted is None and succeeded and not active):
        _set_condition(conditions, "Complete", "True")
        status["completionTime"] = before.get("completionTime") or now()
    elif failed > spec.get("backoffLimit", 6):
        _set_condition(conditions, "Failed", "True", "BackoffLimitExceeded")
    if conditions:
        status["conditions"] = conditions
    return status


ALWAYS: Final = frozenset({"ready", "terminating"})


def _set_condition(conditions: list[Document], kind: str, status: str, reason: str = "") -> None:
    known = next((each for each in conditions if each["type"] == kind), None)
    if known is not None and known["status"] == status:
        return
    said = {"type": kind, "status": status, "lastTransitionTime": now()}
    said |= {"reason": reason} if reason else {}
    if known is None:
        conditions.append(said)
    else:
        known |= said


def _has_condition(document: Mapping[str, Any], *kinds: str) -> bool:
    conditions = document.get("status", {}).get("conditions", ())
    return any(each["type"] in kinds and each["status"] == "True" for each in conditions)


def _has_failed(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod has failed by itself, not by an eviction."""
    return phase(pod) == "Failed" and not _has_condition(pod, DISRUPTED)


def _fits(volume: Document, claim: Document) -> bool:
    """Return whether a volume is free and suits a claim."""
    spec, asked = volume["spec"], claim["spec"]
    return (
        not spec.get("claimRef")
        and spec.get("storageClassName", "") == asked.get("storageClassName", "")
        and set(asked.get("accessModes", ())) <= set(spec.get("accessModes", ()))
        and _size(volume) >= _amount(asked.get("resources", {}).get("requests", {}))
    )


def _size(volume: Document) -> int:
    return _amount(volume["spec"].get("capacity", {}))


def _amount(given: Mapping[str, Any]) -> int:
    return parse_quantity(given.get("storage", 0))
