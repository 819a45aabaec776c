"""What the objects of a world say, read again and plainly: no line is shared with the product."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from search.manifests import (
    KOORDINATOR,
    KUEUE,
    OTHER_LABEL,
    POD_GROUP_LABEL,
    ROLE,
    ROLES,
    Manifest,
)

OURS = "py-gang-scheduler"
SYSTEM_PRIORITY = 2_000_000_000
UNITS = {"m": 0.001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


@dataclass(frozen=True, eq=False)
class Pod:
    """A pod. `gang` is the name of its gang, or of itself; amounts are as written."""

    key: str
    body: Manifest
    requests: Mapping[str, float]
    gang: str
    source: str
    node: str
    priority: int

    @property
    def index(self) -> int | None:
        """Its number among the members, where it has one."""
        index = self.annotations.get(KOORDINATOR + "network-topology-index")
        return None if index is None else int(index)

    @cached_property
    def rank(self) -> tuple[Any, ...]:
        """What members are ordered by: the index where it has one, then the name."""
        ranked = (1, 0) if self.index is None else (0, self.index)
        return (*ranked, natural(self.body["metadata"]["name"]))

    @property
    def role(self) -> str:
        """What it is among the members of its gang."""
        return self.labels.get(ROLE, "")

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.key.partition("/")[0]

    @property
    def created(self) -> str:
        """When it was created; times sort as they are written."""
        return str(self.body["metadata"].get("creationTimestamp", ""))

    @property
    def uid(self) -> str:
        """The uid."""
        return str(self.body["metadata"].get("uid", ""))

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels."""
        return self.body["metadata"].get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations."""
        return self.body["metadata"].get("annotations") or {}

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec."""
        found: Mapping[str, Any] = self.body["spec"]
        return found

    @property
    def deleting(self) -> bool:
        """It is on its way out."""
        return bool(self.body["metadata"].get("deletionTimestamp"))

    @property
    def ends(self) -> float:
        """When it ends, in seconds since the epoch, where it is being deleted."""
        return seconds(self.body["metadata"]["deletionTimestamp"])

    @property
    def status(self) -> Mapping[str, Any]:
        """The status."""
        return self.body.get("status") or {}

    @property
    def terminal(self) -> bool:
        """It has ended."""
        return self.status.get("phase") in ("Succeeded", "Failed")

    @property
    def ours(self) -> bool:
        """It is this scheduler's."""
        return bool(self.spec.get("schedulerName", OURS) == OURS)

    @property
    def living(self) -> bool:
        """It counts as a member, if it is ours."""
        return not (self.deleting or self.terminal or self.spec.get("schedulingGates"))

    @property
    def marked_as_victim(self) -> bool:
        """It was decided before that it goes."""
        conditions = self.status.get("conditions") or []
        return any(c["type"] == "DisruptionTarget" and c["status"] == "True" for c in conditions)

    @property
    def nominated(self) -> str:
        """The node that room was made on for it."""
        return "" if self.node else self.status.get("nominatedNodeName") or ""

    @property
    def never_preempts(self) -> bool:
        """It evicts no other pod."""
        return self.spec.get("preemptionPolicy") == "Never"

    @property
    def ports(self) -> frozenset[int]:
        """The ports that it takes of its node."""
        containers = self.spec["containers"]
        return frozenset(p["hostPort"] for c in containers for p in c.get("ports") or ())

    @property
    def gains(self) -> bool:
        """Other pods that find a place may make room for it."""
        attracted = "podAffinity" in (self.spec.get("affinity") or {})
        return attracted or bool(self.spec.get("topologySpreadConstraints"))

    @property
    def has_pod_affinity(self) -> bool:
        """What other pods there are matters to it."""
        return bool(self.spec.get("affinity") or self.spec.get("topologySpreadConstraints"))

    @property
    def podset(self) -> tuple[tuple[str, str], ...]:
        """What it asks in the words of Kueue."""
        return tuple(sorted((k, v) for k, v in self.annotations.items() if k.startswith(KUEUE)))

    @property
    def class_(self) -> str:
        """Pods of one class ask for the same."""
        asked = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
        parts = [sorted(self.requests.items()), sorted(self.ports)]
        parts += [json.dumps(self.spec.get(key), sort_keys=True) for key in asked]
        return repr((parts, sorted(self.labels.items()) if self.has_pod_affinity else ()))


@dataclass(frozen=True, eq=False)
class Gang:
    """A gang as its object and its members say it. `members` are all of its living pods."""

    name: str
    source: str
    minimum: int
    body: Manifest | None
    members: tuple[Pod, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def roles(self) -> Mapping[str, int]:
        """The minimum of each role in rank order; of a gang without roles, that of any members."""
        marks = ((self.body or {}).get("metadata") or {}).get("annotations") or {}
        found: dict[str, int] = json.loads(marks.get(ROLES, "{}")) or {"": self.minimum}
        return found

    def role_of(self, pod: Pod) -> str:
        """Return the role by which a member counts."""
        return "" if "" in self.roles else pod.role

    def of_role(self, role: str, pods: Iterable[Pod]) -> list[Pod]:
        """Return those of these members that are of a role."""
        return [pod for pod in pods if self.role_of(pod) == role]

    def is_quorum(self, pods: Sequence[Pod]) -> bool:
        """Return whether these members are enough: of every role."""
        return all(len(self.of_role(role, pods)) >= least for role, least in self.roles.items())

    @property
    def lacking(self) -> Mapping[str, int]:
        """How many members lack of each role."""
        return {
            role: max(0, least - len(self.of_role(role, self.bound)))
            for role, least in self.roles.items()
        }

    @property
    def needs(self) -> Mapping[str, int]:
        """How many of those that wait must be bound together, of each role."""
        return dict(self.roles) if self.policy == "only-waiting" else self.lacking

    @property
    def spare(self) -> Mapping[str, int]:
        """How many bound members it can lose of each role."""
        lose_none = self.source == "Pod" or self.body is None
        mode = ((self.body or {}).get("spec") or {}).get("disruptionMode") or {}
        return {
            role: 0
            if lose_none or "all" in mode
            else max(0, len(self.of_role(role, self.bound)) - least)
            for role, least in self.roles.items()
        }

    def first_of(self, needed: Mapping[str, int]) -> list[Pod]:
        """Return the first in rank of those that wait, so many of each role."""
        return [
            pod for role in self.roles for pod in self.of_role(role, self.waiting)[: needed[role]]
        ]

    @property
    def before_surplus(self) -> Mapping[str, int]:
        """How many of those that wait come before any surplus, of each role."""
        if self.basic:
            return {"": len(self.waiting)}
        if self.places_alone:
            return self.lacking
        return {role: max(n, self.quorums[0][role]) for role, n in self.lacking.items()}

    def in_order(self, pods: Iterable[Pod]) -> tuple[Pod, ...]:
        """Return members in the order of their roles, and then of their ranks."""
        places = [*self.roles]
        return tuple(sorted(pods, key=lambda pod: (places.index(self.role_of(pod)), pod.rank)))

    @cached_property
    def bound(self) -> tuple[Pod, ...]:
        """The living members that have a node, in rank order."""
        return self.in_order(pod for pod in self.members if pod.node)

    @cached_property
    def waiting(self) -> tuple[Pod, ...]:
        """The living members of ours that have none, in rank order."""
        return self.in_order(pod for pod in self.members if not pod.node and pod.ours)

    @cached_property
    def own_priority(self) -> int | None:
        """What its object says, if that is one that can."""
        return (
            (self.body or {}).get("spec", {}).get("priority") if self.source == "native" else None
        )

    @cached_property
    def priority(self) -> int:
        """What orders it, and what it may evict by."""
        own = [] if self.own_priority is None else [self.own_priority]
        return min((*own, *(pod.priority for pod in self.members)), default=0)

    @cached_property
    def started(self) -> bool:
        """It was whole, and one that has a node since lives."""
        if not self.bound:
            return False
        conditions = ((self.body or {}).get("status") or {}).get("conditions") or []
        said = ("Scheduled", "PodGroupInitiallyScheduled")
        was = any(c["type"] in said and c["status"] == "True" for c in conditions)
        return was or self.is_quorum(self.bound)

    @property
    def basic(self) -> bool:
        """Its pods are gangs of one."""
        spec = (self.body or {}).get("spec") or {}
        return self.source == "native" and "basic" in spec.get("schedulingPolicy", {})

    @property
    def lacks(self) -> int:
        """How many members it lacks under its minimum."""
        return len(self.waiting) if self.basic else sum(self.lacking.values())

    @property
    def policy(self) -> str:
        """What counts for a quorum."""
        return self.options.get(KOORDINATOR + "match-policy", "once-satisfied")

    @property
    def places_alone(self) -> bool:
        """Its members are bound one by one: it has started."""
        strict = self.options.get(KOORDINATOR + "mode", "Strict") == "Strict"
        return self.basic or (self.started and (not strict or self.policy == "once-satisfied"))

    @property
    def quorums(self) -> list[Mapping[str, int]]:
        """How many of those that wait must be bound together, of each role: one way is enough."""
        if not self.places_alone and any(self.needs.values()):
            return [self.needs]
        # One of those that lack, else one of any role.
        some = [role for role, number in self.lacking.items() if number] or [*self.roles]
        return [{role: int(role == each) for role in self.roles} for each in some]

    @property
    def names(self) -> list[str]:
        """The gangs that it says are of its group."""
        said = json.loads(self.options.get(KOORDINATOR + "groups", "[]"))
        return [name for name in said if name != self.name]

    @property
    def spec(self) -> Mapping[str, Any] | None:
        """What it asks of the network as a whole."""
        text = self.options.get(KOORDINATOR + "network-topology-spec")
        return json.loads(text) if text else None

    @property
    def native_keys(self) -> list[str]:
        """The keys that a native PodGroup must gather by."""
        asked = (self.body or {}).get("spec", {}).get("schedulingConstraints") or {}
        return [each["key"] for each in asked.get("topology") or ()]


def pods(documents: Iterable[Manifest]) -> list[Pod]:
    """Return the pods of a world."""
    return [_pod(body) for body in documents if body["kind"] == "Pod"]


def gangs(documents: Sequence[Manifest], every: Sequence[Pod]) -> dict[str, Gang]:
    """Return the gangs of a world by name, single pods among them."""
    objects = {
        (_source(body), _key(body)): body for body in documents if body["kind"] == "PodGroup"
    }
    members: dict[tuple[str, str], list[Pod]] = {key: [] for key in objects}
    for pod in every:
        members.setdefault((pod.source, pod.gang), []).append(pod)
    found = {}
    for (source, name), some in members.items():
        found[name] = _gang(source, name, objects.get((source, name)), some)
    return found


def _gang(source: str, name: str, body: Manifest | None, some: Sequence[Pod]) -> Gang:
    living = tuple(pod for pod in some if pod.living and pod.ours)
    minimum, options = 1, dict[str, str]()
    if body is not None and source == "native":
        policy = body["spec"]["schedulingPolicy"]
        minimum = policy.get("gang", {}).get("minCount", 1)
    elif body is not None:
        minimum = body["spec"]["minMember"]
        options = body["metadata"].get("annotations") or {}
    elif source == "annotation":
        oldest = min(some, key=lambda pod: (pod.created, pod.uid))
        body, options = oldest.body, dict(oldest.annotations)
        minimum = int(options[KOORDINATOR + "min-available"])
    elif source == "Pod":
        body, options = some[0].body, dict(some[0].annotations)
        own = KOORDINATOR + "network-topology-spec"
        options = {own: options[own]} if own in options else {}
    return Gang(name, source, minimum, body, living, options)


def _pod(body: Manifest) -> Pod:
    spec, metadata = body["spec"], body["metadata"]
    requests: dict[str, float] = {}
    for container in spec["containers"]:
        for name, text in (container.get("resources") or {}).get("requests", {}).items():
            requests[name] = requests.get(name, 0) + amount(text)
    namespace = metadata.get("namespace", "default")
    source, name = _membership(body)
    return Pod(
        key=f"{namespace}/{metadata['name']}",
        body=body,
        requests=requests,
        gang=f"{namespace}/{name}",
        source=source,
        node=spec.get("nodeName") or "",
        priority=spec.get("priority") or 0,
    )


def _membership(body: Manifest) -> tuple[str, str]:
    metadata = body["metadata"]
    labels, marks = metadata.get("labels") or {}, metadata.get("annotations") or {}
    native = (body["spec"].get("schedulingGroup") or {}).get("podGroupName")
    labelled = labels.get(POD_GROUP_LABEL) or labels.get(OTHER_LABEL)
    for source, name in (
        ("native", native),
        ("PodGroup", labelled),
        ("annotation", marks.get(KOORDINATOR + "name")),
    ):
        if name:
            return source, name
    return "Pod", metadata["name"]


def _source(body: Manifest) -> str:
    return "native" if body["apiVersion"].startswith("scheduling.k8s.io") else "PodGroup"


def _key(body: Manifest) -> str:
    return f"{body['metadata'].get('namespace', 'default')}/{body['metadata']['name']}"


def amount(text: object) -> float:
    """Return a quantity in the unit of its resource; CPU in cores."""
    found = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(text))
    assert found is not None
    return float(found[1]) * UNITS.get(found[2], 1)


def seconds(text: str) -> float:
    """Return a time in seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts a-9 before a-10."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", name)
    )
