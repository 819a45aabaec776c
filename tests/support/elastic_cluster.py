"""A cluster in memory with elastic gangs, whose evicted members are created again as Jobs do."""

import json
from typing import Any

from gang_scheduler.model.plan import Plan, Preemption
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import api_objects, applying
from support.in_memory_cluster import Body, InMemoryCluster, _Confirms

ELASTIC = "py-gang-scheduler.io/elastic"


def annotation(least: int, most: int, **policy: Any) -> dict[str, str]:
    """Return the annotation of an elastic gang; `policy` are fields of its scalePolicy."""
    said = {"minWorkers": least, "maxWorkers": most, "scalePolicy": policy}
    return {ELASTIC: json.dumps(said)}


def pace(up: int = 0, down: int = 0, up_step: int = 1, down_step: int = 1) -> dict[str, Any]:
    """Return a scalePolicy, the cooldowns in seconds."""
    return {
        "scaleUpCooldown": f"{up}s",
        "scaleDownCooldown": f"{down}s",
        "scaleUpStep": up_step,
        "scaleDownStep": down_step,
    }


class ElasticCluster(InMemoryCluster):
    """One node; a pod asks for one CPU."""

    def elastic(self, name: str, least: int, most: int, pods: int, **policy: Any) -> None:
        """Add a PodGroup with an annotation, and its pods."""
        metadata = {
            "namespace": "default",
            "uid": f"uid-default-{name}",
            "annotations": annotation(least, most, **policy),
        }
        body = api_objects.pod_group_body(name, min_member=least, metadata=metadata)
        self.put(body)
        self.members(name, pods)

    def cycle(self, later: int = 0) -> Plan:
        """Decide, so many seconds later, and carry it out: victims leave at once."""
        self.now += later
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, _Evicts(self))
        for made in plan.preemptions:
            for victim in made.victims:
                self.evicted(victim.pod.name, victim.pod.namespace)
        return plan

    def settle(self, later: int = 0) -> int:
        """Make cycles until nothing happens, the first so many seconds later; return how many."""
        plan = self.cycle(later)
        number = 1
        while plan.placed or any(made.victims for made in plan.preemptions):
            plan = self.cycle()
            number += 1
        return number

    def evicted(self, name: str, namespace: str = "default") -> None:
        """Delete a pod, and create one of its name that waits."""
        before = self.pods[namespace, name]
        own = {"uid", "name", "namespace"}
        metadata = {key: each for key, each in before["metadata"].items() if key not in own}
        spec = {key: each for key, each in before["spec"].items() if key != "nodeName"}
        self.gone(name, namespace)
        self.pod(name, namespace=namespace, spec=spec, **metadata)

    def running(self, gang: str) -> list[str]:
        """Return the members with a node, in the order of their names."""
        mine = (body for body in self.pods.values() if _gang_of(body) == gang)
        return sorted(body["metadata"]["name"] for body in mine if body["spec"].get("nodeName"))


class _Evicts(_Confirms):
    """Lets every binding be seen at once."""

    def preempt(self, _: Preemption) -> None:
        """Do nothing here: victims leave when the plan is taken in."""


def _gang_of(body: Body) -> str:
    labels = body["metadata"].get("labels") or {}
    found: str = labels.get("pod-group.scheduling.sigs.k8s.io", "")
    return found
