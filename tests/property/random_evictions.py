"""Random small clusters with queues in which a gang may have to evict others, from a seed.

Cases have the form of `queue-cases.yaml`: they are written out as manifests as those are, and read
by the model of this folder. `budget` of a gang is beside that form: the disruptions its own
PodDisruptionBudget allows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from conformance import queue_manifests
from property.eviction_cases import Case
from support import builders

Body = dict[str, Any]
POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
WITHIN = ("Never", "Never", "LowerPriority", "LowerOrNewerEqualPriority")
FAIRNESS = ("FairShare", "Priority", "DRS", "DRF")
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
CLASSES = ("Overrun", "Reclaim", "InQueue", "WhileBorrowing", "FairShare")
FLAVORS = ("spot", "od")
STARTED = (60, 300, 900, 3600, 7200, 90000)
MOST_CHOICES = 600
"""The most sets of victims of a case: the model tries each."""


@dataclass
class _Shape:
    """Queues by name, each with the queue above it ("" for none)."""

    above: dict[str, str] = field(default_factory=dict)

    @property
    def leaves(self) -> list[str]:
        return [name for name in self.above if name not in self.above.values()]

    def beside(self, name: str) -> list[str]:
        """Return the queues that are neither above nor below a queue."""
        way = self._way(name)
        return [each for each in self.above if each not in way and name not in self._way(each)]

    def _way(self, name: str) -> list[str]:
        return [name, *self._way(self.above[name])] if name else []


def a_case(seed: int) -> Case:
    """Return a case of a seed: one gang waits, a few run."""
    dice = Random(seed)  # noqa: S311 - for cases, not for secrets.
    resources = ("cpu", "memory") if dice.random() < 0.2 else ("cpu",)
    kinds: tuple[str, ...] = dice.choice(
        (("ours",), ("ours",), ("kueue",), ("kueue",), ("volcano",))
    )
    if dice.random() < 0.12:
        kinds = ("ours", "kueue")
    objects: list[Body] = []
    leaves: list[tuple[str, str]] = []
    arguments: list[str] = []
    for kind in kinds:
        shape = _shape(dice, kind[0])
        objects += _QUEUES[kind](dice, shape, resources)
        leaves += [(kind, name) for name in shape.leaves]
    if "kueue" in kinds:
        arguments += ["--kueue-fairness", dice.choice(("Priority", "DRS"))]
    if dice.random() < 0.1:
        arguments += ["--fair-strategies", dice.choice(STRATEGIES)]
    nodes = _nodes(dice, resources)
    if any(each["kind"] == "ResourceFlavor" for each in objects):
        nodes = [
            {**nodes[number % len(nodes)], "name": f"n-{name}", "labels": {"t": name}}
            for number, name in enumerate(FLAVORS)
        ]
    case: Body = {"id": f"seed-{seed}", "objects": objects, "nodes": nodes, "args": arguments}
    case["via"] = kinds[0]
    case["running"] = list(_running(dice, leaves, resources, nodes))
    waiting = ("p", "q") if dice.random() < 0.2 else ("p",)
    case["pending"] = [_waiting(dice, name, leaves, resources) for name in waiting]
    if dice.random() < 0.7 and "labels" not in nodes[0]:
        _tighten(dice, case)
    scaled: Body = _scaled(case)
    return scaled


def a_case_of_a_cut_quota(seed: int) -> Case:
    """Return a case of a seed: more is used than is promised, and a queue keeps to its promise.

    Once some of its own gangs go, it is within the promise, and others go by a better right.
    """
    dice = Random(seed)  # noqa: S311 - for cases, not for secrets.
    own = dice.randint(2, 6)
    running: list[Body] = [
        {"gang": f"r{number}", "via": "ours", "queue": queue, "pods": 1, "min": 1, "node": "n0"}
        | {"requests": {"cpu": dice.choice((1, 1, 2, 3))}, "priority": dice.choice((-1, 0, 0, 1))}
        | {"started": dice.choice(STARTED)}
        for queue, number in ((dice.choice(("own", "own", "other")), n) for n in range(7))
    ]
    used = sum(each["requests"]["cpu"] for each in running)
    cut = dice.randint(0, 2)
    objects: list[Body] = [
        {"kind": "Queue", "name": "root", "spec": {"fairness": dice.choice(FAIRNESS)}},
        {"kind": "Queue", "name": "own", "spec": {"borrowing": {"enabled": True}}},
        {"kind": "Queue", "name": "other", "spec": {"borrowing": {"enabled": True}}},
    ]
    for each, soft in zip(objects, (max(own, used - cut), own, dice.randint(0, 1)), strict=True):
        each["spec"]["quota"] = {"soft": {"cpu": soft}}
    waiting = {"gang": "p", "via": "ours", "queue": "own", "pods": 1, "min": 1, "priority": 2}
    return {
        "id": f"cut-{seed}",
        "objects": objects,
        "nodes": [{"name": "n0", "allocatable": {"cpu": 1000, "memory": 1000, "pods": 500}}],
        "args": [],
        "via": "ours",
        "running": running,
        "pending": [{**waiting, "requests": {"cpu": dice.randint(1, 2)}, "age": 100}],
    }


def _scaled(value: Any) -> Any:
    """Return a case with memory in MiB, so that rounding to bytes decides nothing."""
    if isinstance(value, list):
        return [_scaled(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("name") == "memory":
        return {key: each if key == "name" else f"{each}Mi" for key, each in value.items()}
    found = {key: _scaled(each) for key, each in value.items()}
    # The flavor of memory is no amount.
    some = value.get("memory") not in (None, *FLAVORS)
    return found | ({"memory": f"{value['memory']}Mi"} if some else {})


def _tighten(dice: Random, case: Body) -> None:
    """Let the roots have hardly more than what runs, or the only node."""
    used = {
        resource: sum(g["pods"] * g["requests"].get(resource, 0) for g in case["running"])
        for resource in ("cpu", "memory")
    }
    spare = {"cpu": dice.choice((0, 0, 0, 0.5, 1)), "memory": dice.choice((0, 0, 1))}
    roots = {each["name"]: each["spec"] for each in case["objects"]}
    promised = _promised(case["objects"])
    if "quota" in roots.get("root", {}):
        soft = roots["root"]["quota"]["soft"]
        soft |= {key: f"{used[key] + spare[key]:g}" for key in soft}
    for group in roots.get("all", {}).get("resourceGroups", []):
        for quota in group["flavors"][0]["resources"]:
            name = quota["name"]
            quota["nominalQuota"] = f"{max(0, used[name] - promised[name]) + spare[name]:g}"
    if len(case["nodes"]) == 1 and (case["via"] == "volcano" or dice.random() < 0.3):
        case["nodes"][0]["allocatable"]["cpu"] = f"{used['cpu'] + spare['cpu']:g}"


def _promised(objects: list[Body]) -> dict[str, float]:
    """Return what Kueue's queues below the top were promised."""
    found = {"cpu": 0.0, "memory": 0.0}
    for each in objects:
        for group in each["spec"].get("resourceGroups", []) if each["name"] != "all" else ():
            for quota in group["flavors"][0]["resources"]:
                found[quota["name"]] += float(quota["nominalQuota"])
    return found


def documents(case: Case) -> list[Body]:
    """Return a case as manifests."""
    budgets = [_budget(gang) for gang in case["running"] if "budget" in gang]
    return [*queue_manifests.manifests(case), *budgets]


def _budget(gang: Case) -> Body:
    label = builders.POD_GROUP_LABEL
    selector = {"matchLabels": {label: gang["gang"]}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": gang["gang"], "namespace": "default"},
        "spec": {"selector": selector, "maxUnavailable": gang["budget"]},
        "status": {
            "disruptionsAllowed": gang["budget"],
            "currentHealthy": gang["pods"],
            "desiredHealthy": max(0, gang["pods"] - gang["budget"]),
            "expectedPods": gang["pods"],
        },
    }


# Queues.


def _shape(dice: Random, prefix: str) -> _Shape:
    shape = _Shape()
    levels = dice.choice((1, 1, 1, 2, 2, 3))

    def grow(above: str, level: int) -> None:
        for _ in range(dice.randint(2, 3) if level == 1 else dice.randint(1, 2)):
            name = f"{prefix}{len(shape.above)}"
            shape.above[name] = above
            if level < levels and dice.random() < 0.6:
                grow(name, level + 1)

    grow("", 1)
    return shape


def _amount(dice: Random, most: int = 4) -> int:
    return int(dice.choice((0, 0, 1, *range(1, most + 1))))


def _some(dice: Random, resources: tuple[str, ...], most: int = 4) -> dict[str, int]:
    return {resource: _amount(dice, most) for resource in resources}


def _ours(dice: Random, shape: _Shape, resources: tuple[str, ...]) -> Iterator[Body]:
    root: Body = {"fairness": dice.choice(FAIRNESS)}
    if dice.random() < 0.7:
        root["quota"] = {"soft": _some(dice, resources, 12)}
    yield {"kind": "Queue", "name": "root", "spec": root}
    for name, above in shape.above.items():
        soft = _some(dice, resources, 4 if name in shape.leaves else 8)
        quota: Body = {"soft": soft}
        spec: Body = {"quota": quota, "preemption": _our_preemption(dice, list(shape.above))}
        if above:
            spec["parent"] = above
        if dice.random() < 0.75:
            spec["borrowing"] = {"enabled": True}
            if dice.random() < 0.2:
                spec["borrowing"]["maxBorrowRatio"] = dice.choice((0.5, 1, 2))
            others = shape.beside(name)
            if others and dice.random() < 0.15:
                spec["borrowing"]["allowedQueues"] = dice.sample(others, 1)
        if dice.random() < 0.15 and name in shape.leaves:
            quota["guaranteed"] = {key: dice.randint(0, value) for key, value in soft.items()}
        if dice.random() < 0.15:
            quota["hard"] = {key: value + dice.randint(0, 4) for key, value in soft.items()}
        if dice.random() < 0.3:
            spec["weight"] = dice.choice((0, 2, 3))
        yield {"kind": "Queue", "name": name, "spec": spec}


def _our_preemption(dice: Random, names: list[str]) -> Body:
    said: Body = {"withinQueue": dice.choice(WITHIN)}
    if dice.random() < 0.4:
        said["reclaim"] = dice.choice(POLICIES)
    if dice.random() < 0.85:
        said["whileBorrowing"] = _while_borrowing(dice)
    if dice.random() < 0.08:
        said["allowPreemption"] = False
    if dice.random() < 0.08:
        said["allowPreemptFrom"] = dice.sample(names, 1)
    if dice.random() < 0.08:
        said["fence"] = True
    if dice.random() < 0.12:
        said["minRuntime"] = "10m"
    return said


def _while_borrowing(dice: Random) -> Body:
    said: Body = {"policy": dice.choice(("Never", *["LowerPriority"] * 4))}
    if said["policy"] != "Never" and dice.random() < 0.3:
        said["maxPriorityThreshold"] = dice.choice((-1, 0, 1))
    return said


def _kueue(dice: Random, shape: _Shape, resources: tuple[str, ...]) -> Iterator[Body]:
    top = "" if dice.random() < 0.1 else "all"
    tops = [name for name, above in shape.above.items() if not above]
    flavors = FLAVORS if dice.random() < 0.15 else ("default",)
    for name in flavors if len(flavors) > 1 else ():
        yield {"kind": "ResourceFlavor", "name": name, "spec": {"nodeLabels": {"t": name}}}
    if top and dice.random() < 0.7:
        groups = [_group(dice, resources, leaf=False, flavors=flavors)]
        yield {"kind": "Cohort", "name": top, "spec": {"resourceGroups": groups}}
    for name, above in shape.above.items():
        leaf = name in shape.leaves
        parent = top if name in tops else above
        group = _group(dice, resources, leaf=leaf, parent=parent, flavors=flavors)
        spec: Body = {"resourceGroups": [group]}
        if dice.random() < 0.3:
            spec["fairSharing"] = {"weight": dice.choice(("0", "2", "0.5"))}
        if parent:
            spec["cohortName" if leaf else "parentName"] = parent
        if leaf:
            spec["namespaceSelector"] = {}
            spec["preemption"] = _kueue_preemption(dice)
            if len(flavors) > 1:
                spec["flavorFungibility"] = _fungibility(dice)
        yield {"kind": "ClusterQueue" if leaf else "Cohort", "name": name, "spec": spec}


def _group(
    dice: Random,
    resources: tuple[str, ...],
    *,
    leaf: bool,
    parent: str = "",
    flavors: tuple[str, ...] = ("default",),
) -> Body:
    rows = [
        {"name": flavor, "resources": _quotas(dice, resources, leaf=leaf, parent=parent)}
        for flavor in flavors
    ]
    return {"coveredResources": [*resources], "flavors": rows}


def _quotas(dice: Random, resources: tuple[str, ...], *, leaf: bool, parent: str) -> list[Body]:
    quotas = []
    for resource in resources:
        most = _amount(dice) if leaf or dice.random() < 0.5 else 0
        quota: Body = {"name": resource, "nominalQuota": str(most)}
        if parent and dice.random() < 0.2:
            quota["borrowingLimit"] = str(dice.randint(0, 4))
        if parent and dice.random() < 0.2:
            quota["lendingLimit"] = str(dice.randint(0, 3))
        quotas.append(quota)
    return quotas


def _fungibility(dice: Random) -> Body:
    return {
        "whenCanBorrow": dice.choice(("MayStopSearch", "TryNextFlavor")),
        "whenCanPreempt": dice.choice(("MayStopSearch", "TryNextFlavor")),
        "preference": dice.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing")),
    }


def _kueue_preemption(dice: Random) -> Body:
    said: Body = {
        "withinClusterQueue": dice.choice(WITHIN),
        "reclaimWithinCohort": dice.choice(("Never", "LowerPriority", "Any", "Any")),
    }
    if dice.random() < 0.85:
        said["borrowWithinCohort"] = _while_borrowing(dice)
    return said


def _volcano(dice: Random, shape: _Shape, resources: tuple[str, ...]) -> Iterator[Body]:
    for name, above in shape.above.items():
        spec: Body = {"weight": dice.choice((1, 1, 2, 3))}
        if above:
            spec["parent"] = above
        if name in shape.leaves and dice.random() < 0.8:
            spec["deserved"] = _some(dice, resources)
            if dice.random() < 0.2:
                few = {key: dice.randint(0, value) for key, value in spec["deserved"].items()}
                spec["guarantee"] = {"resource": few}
            if dice.random() < 0.2:
                more = {key: value + dice.randint(1, 4) for key, value in spec["deserved"].items()}
                spec["capability"] = more
        if name not in shape.leaves and dice.random() < 0.5:
            spec["guarantee"] = {"resource": _some(dice, resources, 6)}
        if dice.random() < 0.1:
            spec["reclaimable"] = False
        yield {"kind": "VolcanoQueue", "name": name, "spec": spec}


_QUEUES: dict[str, Callable[[Random, _Shape, tuple[str, ...]], Iterator[Body]]] = {
    "ours": _ours,
    "kueue": _kueue,
    "volcano": _volcano,
}


# Nodes and gangs.


def _nodes(dice: Random, resources: tuple[str, ...]) -> list[Body]:
    """Return a node that is never full, or a full one, or small ones."""
    kind = dice.random()
    ample = {"cpu": 1000, "memory": 1000, "pods": 500}
    if kind < 0.5:
        return [{"name": "n0", "allocatable": ample}]
    if kind < 0.75:
        return [{"name": "n0", "allocatable": {**ample, **_few(dice, resources, 3, 12)}}]
    return [
        {"name": f"n{i}", "allocatable": {**ample, **_few(dice, resources, 1, 4)}}
        for i in range(dice.randint(2, 4))
    ]


def _few(dice: Random, resources: tuple[str, ...], least: int, most: int) -> dict[str, int]:
    """Return what nodes have little of: CPU, or memory, or both."""
    chosen = ("cpu",) if dice.random() < 0.6 else resources
    return {resource: dice.randint(least, most) for resource in chosen}


def _requests(dice: Random, resources: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"cpu": dice.choice((0.5, 1, 1, 1, 2, 2, 3))}
    if "memory" in resources and dice.random() < 0.8:
        found["memory"] = dice.choice((1, 1, 2, 3))
    return found


def _running(
    dice: Random,
    leaves: list[tuple[str, str]],
    resources: tuple[str, ...],
    nodes: list[Body],
) -> Iterator[Body]:
    free = {node["name"]: dict(node["allocatable"]) for node in nodes}
    choices = 1
    for number in range(dice.choice((2, 3, 4, 5, 5, 6, 6, 7, 8))):
        gang = _a_gang(dice, f"r{number}", leaves, resources, none=0.12)
        choices *= gang["pods"] - gang["min"] + 2
        if "labels" in nodes[0]:
            node = dice.choice(nodes)
            if gang.get("via") == "kueue":
                gang["flavors"] = dict.fromkeys(gang["requests"], node["labels"]["t"])
            there = {node["name"]: free[node["name"]]}
        else:
            there = free
        places = [_place(there, gang["requests"]) for _ in range(gang["pods"])]
        if None in places or choices > MOST_CHOICES:
            break
        gang["node"] = places
        if len(set(places)) > 1:
            # The model does not choose between members over the quorum.
            gang["min"] = gang["pods"]
        gang["started"] = dice.choice(STARTED)
        if dice.random() < 0.1:
            gang["budget"] = dice.randint(0, gang["pods"])
        if dice.random() < 0.04:
            gang["scheduler"] = "default-scheduler"
        if status := _status(dice, gang["started"]):
            gang["status"] = status
        yield gang


def _status(dice: Random, started: int) -> Body:
    """Return what is remembered of a gang that runs: mostly nothing."""
    found: Body = {}
    if dice.random() < 0.06:
        found["checkpoint"] = {"doneAt": f"@-{min(started, 200)}", "step": 1}
    if dice.random() < 0.06:
        found["evictions"] = _yielded(dice)
    return found


def _yielded(dice: Random) -> Body:
    link = {"by": f"default/r{dice.randint(0, 4)}", "class": dice.choice(CLASSES)}
    return {"count": 1, "yieldedTo": [link]}


def _place(free: dict[str, Body], requests: Body) -> str | None:
    for name, room in free.items():
        if all(room[key] >= value for key, value in requests.items()):
            for key, value in requests.items():
                room[key] -= value
            return name
    return None


def _waiting(
    dice: Random, name: str, leaves: list[tuple[str, str]], resources: tuple[str, ...]
) -> Body:
    gang = _a_gang(dice, name, leaves, resources, none=0.03)
    gang["priority"] = dice.choice((0, 0, 1, 2, 2))
    if dice.random() < 0.8:
        gang["min"] = gang["pods"]
    gang["age"] = dice.choice((100, 1000, 10000))
    if dice.random() < 0.03:
        gang["preemptionPolicy"] = "Never"
    if dice.random() < 0.15:
        gang["status"] = {"evictions": _yielded(dice)}
    return gang


def _a_gang(
    dice: Random,
    name: str,
    leaves: list[tuple[str, str]],
    resources: tuple[str, ...],
    *,
    none: float,
) -> Body:
    pods = dice.choice((1, 1, 1, 1, 2, 2, 3))
    gang: Body = {
        "gang": name,
        "pods": pods,
        "min": dice.randint(1, pods) if dice.random() < 0.4 else pods,
        "requests": _requests(dice, resources),
        "priority": dice.choice((-1, -1, 0, 0, 0, 1)),
    }
    if dice.random() >= none:
        via, queue = dice.choice(leaves)
        gang |= {"via": via, "queue": queue}
    return gang
