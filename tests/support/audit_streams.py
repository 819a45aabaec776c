"""Streams of events as an auditor sees them, made step by step."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gang_auditor import watch_events
from gang_auditor.auditor import Auditor, Limits
from gang_auditor.findings import Finding
from gang_auditor.rules import table
from gang_auditor.watch_events import Event
from gang_scheduler.api import annotations as keys

Manifest = dict[str, Any]
UIDS = itertools.count()
START = 1_800_000_000.0
SCHEDULER = "py-gang-scheduler"
NAMESPACE = "lab"


def node(name: str, cpu: int | str = 8, **fields: Any) -> Manifest:
    """Return a node that is ready; `fields` go into its spec."""
    labels = {"kubernetes.io/hostname": name, **fields.pop("labels", {})}
    offered = {"cpu": str(cpu), "memory": "64Gi", "pods": "110", **fields.pop("devices", {})}
    ready = {"type": "Ready", "status": fields.pop("ready", "True")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "spec": fields,
        "status": {"allocatable": offered, "conditions": [ready]},
    }


def pod(name: str, cpu: int | str = 1, **fields: Any) -> Manifest:
    """Return a pod that waits; `gang` is its PodGroup, other `fields` go into its spec."""
    gang = fields.pop("gang", None)
    labels = {**({keys.POD_GROUP_LABEL: gang} if gang else {}), **fields.pop("labels", {})}
    metadata = {
        "name": name,
        "namespace": fields.pop("namespace", NAMESPACE),
        "uid": f"pod-{next(UIDS)}",
        "labels": labels,
        "annotations": fields.pop("annotations", {}),
    }
    ports = [{"hostPort": number} for number in fields.pop("host_ports", ())]
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}, "ports": ports}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": SCHEDULER, "containers": [container], "priority": 0, **fields},
        "status": {"phase": "Pending"},
    }


def pod_group(name: str, min_member: int, **annotations: str) -> Manifest:
    """Return a PodGroup."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"group-{name}",
            "annotations": annotations,
        },
        "spec": {"minMember": min_member},
    }


def bound(found: Manifest, to: str, plan: str | None = "run-1-1", **annotations: str) -> Manifest:
    """Return a pod once it is bound; without a plan another hand has done it."""
    marks = {keys.PLAN_ID: plan, **annotations} if plan else annotations
    return changed(found, annotations=marks, spec={"nodeName": to})


def changed(
    found: Manifest,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Manifest:
    """Return an object with some fields changed."""
    before = found["metadata"]
    return {
        **found,
        "metadata": {
            **before,
            **(metadata or {}),
            "annotations": {**before.get("annotations", {}), **(annotations or {})},
            "labels": {**before.get("labels", {}), **(labels or {})},
        },
        "spec": {**found.get("spec", {}), **(spec or {})},
        "status": {**found.get("status", {}), **(status or {})},
    }


def ended(found: Manifest) -> Manifest:
    """Return a pod that has succeeded."""
    return changed(found, status={"phase": "Succeeded"})


def deleted(found: Manifest) -> Manifest:
    """Return a pod that is being deleted."""
    return changed(found, metadata={"deletionTimestamp": watch_events.rfc3339(START)})


class Stream:
    """An auditor with a clock that a test moves. `found` are all its findings."""

    def __init__(self, *rules: str, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        made = [make(self.limits) for name, make in table.RULES.items() if name in rules]
        assert len(made) == len(rules)
        self.auditor = Auditor(made, self.limits.skew)
        self.found: list[Finding] = []
        self.now = START

    def see(self, *found: Manifest, kind: str = watch_events.MODIFIED) -> None:
        """Hand on that objects were added or changed."""
        for each in found:
            self._observe(kind, each)

    def gone(self, *found: Manifest) -> None:
        """Hand on that objects were deleted."""
        self.see(*found, kind=watch_events.DELETED)

    def listed(self, kind: Manifest, *found: Manifest) -> None:
        """Hand on a list of all objects of a kind; `kind` is any of them."""
        named = {"apiVersion": kind["apiVersion"], "kind": kind["kind"]}
        self._observe(watch_events.LISTING, named)
        self.see(*found, kind=watch_events.ADDED)
        self._observe(watch_events.LISTED, named)

    def broken(self, kind: Manifest, *, resumed: bool = False) -> None:
        """Hand on that the watch of a kind broke, or was resumed."""
        named = {"apiVersion": kind["apiVersion"], "kind": kind["kind"]}
        self._observe(watch_events.RESUMED if resumed else watch_events.BROKEN, named)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.found += self.auditor.tick(self.now)

    def end(self) -> Sequence[tuple[str, str]]:
        """End the stream; return rule and object of all findings."""
        self.found += self.auditor.finish()
        return self.told

    @property
    def told(self) -> Sequence[tuple[str, str]]:
        """Rule and object of all findings until now."""
        return [(each.rule, each.about) for each in self.found]

    def _observe(self, kind: str, found: Manifest) -> None:
        self.now += 0.001
        self.found += self.auditor.observe(Event(self.now, kind, found))
