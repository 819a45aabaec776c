"""The objects of a job: the PodGroup and the pods that its controller would create."""

import json
from collections.abc import Mapping
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import POD_GROUPS
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU, MEMORY, quantity
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.replay.jobs import Job, slug
from gang_scheduler.replay.scenarios import GPU, GPU_TYPE

Body = Mapping[str, Any]


class Objects:
    """Makes the objects of jobs. `queued`: jobs name their queues.

    `gpu_types` are the types that nodes have, by their names in lower case: a job cannot request
    other types.
    """

    def __init__(
        self,
        scheduler: str,
        membership: Membership,
        *,
        queued: bool,
        gpu_types: Mapping[str, str],
        gpu_resource: str = GPU,
    ) -> None:
        self._scheduler = scheduler
        self._membership = membership
        self._queued = queued
        self._gpu_types = gpu_types
        self._gpu_resource = gpu_resource
        self._names: dict[str, str] = {}
        self._taken: set[tuple[str, str]] = set()

    def name_of(self, job: Job) -> str:
        """Return the name of a job's objects, unique in its namespace."""
        found = self._names.get(job.key)
        if found is None:
            base = found = slug(job.name) or "job"
            number = 1
            while (job.namespace, found) in self._taken:
                number += 1
                found = f"{base}-{number}"
            self._taken.add((job.namespace, found))
            self._names[job.key] = found
        return found

    def key_of(self, job: Job) -> GangKey:
        """Return the key of a job's gang."""
        source = refs.SINGLE if job.pods == 1 else refs.POD_GROUP
        name = f"{self.name_of(job)}-0" if job.pods == 1 else self.name_of(job)
        return GangKey(source.name, job.namespace, name)

    def group(self, job: Job) -> Body | None:
        """Return the PodGroup of a job; None for a job with one pod."""
        if job.pods == 1:
            return None
        name = self.name_of(job)
        return {
            "apiVersion": POD_GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": {
                "name": name,
                "namespace": job.namespace,
                "uid": f"group-{job.namespace}-{name}",
                "creationTimestamp": rfc3339(job.submit),
                "labels": self._labels(job),
                "annotations": _annotations(job),
            },
            "spec": {"minMember": job.least},
        }

    def pod(self, job: Job, number: int, created_at: int) -> Body:
        """Return a pod of a job."""
        name = self.name_of(job)
        labels = self._labels(job)
        if job.pods > 1:
            labels[annotations.POD_GROUP_LABEL] = name
        metadata = {
            "name": f"{name}-{number}",
            "namespace": job.namespace,
            "uid": f"{job.namespace}/{name}-{number}",
            "creationTimestamp": rfc3339(created_at),
            "labels": labels,
            "annotations": {**_annotations(job), annotations.NETWORK_TOPOLOGY_INDEX: str(number)},
        }
        if job.pods > 1:
            # The PodGroup has it for all members.
            metadata["annotations"] = {annotations.NETWORK_TOPOLOGY_INDEX: str(number)}
        requests = {self._gpu_resource: str(job.gpu)} if job.gpu else {}
        requests |= {CPU: quantity(CPU, job.cpu)} if job.cpu else {}
        requests |= {MEMORY: quantity(MEMORY, job.memory)} if job.memory else {}
        spec: dict[str, Any] = {
            "schedulerName": self._scheduler,
            "priority": job.priority,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": "job",
                    "resources": {"requests": requests, "limits": requests},
                }
            ],
        }
        if job.priority_class:
            spec["priorityClassName"] = job.priority_class
        wanted = self._gpu_types.get(job.gpu_type.lower()) if job.gpu_type else None
        if wanted is not None:
            spec["nodeSelector"] = {GPU_TYPE: wanted}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
            "status": {"phase": "Pending"},
        }

    def read_group(self, job: Job) -> GangObject | None:
        """Return the PodGroup of a job as a watch reads it."""
        body = self.group(job)
        return None if body is None else pod_groups.pod_group_object(body)

    def read_pods(self, job: Job, numbers: range | list[int], at: int, life: int) -> list[Pod]:
        """Return pods of a job as a watch reads them, created at a time after `life` restarts.

        Only the first is decoded: the others differ in name and rank.
        """
        if not numbers:
            return []
        first = pod_decode.pod(self.pod(job, numbers[0], at), self._membership)
        name, suffix = self.name_of(job), f"+{life}" if life else ""
        return [
            revised(
                first,
                uid=f"{job.namespace}/{name}-{number}{suffix}",
                name=f"{name}-{number}",
                rank=(number,),
            )
            for number in numbers
        ]

    def _labels(self, job: Job) -> dict[str, str]:
        return {annotations.QUEUE: job.queue} if self._queued and job.queue else {}


def _annotations(job: Job) -> dict[str, str]:
    found = {}
    if job.limit is not None:
        found[annotations.EXPECTED_DURATION] = f"{job.limit}s"
    if job.topology:
        strategy = "PreferGather" if job.topology.endswith("?") else "MustGather"
        layer = {"layer": job.topology.removesuffix("?"), "strategy": strategy}
        found[annotations.NETWORK_TOPOLOGY_SPEC] = json.dumps({"gatherStrategy": [layer]})
    return found
