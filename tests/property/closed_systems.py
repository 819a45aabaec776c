"""Random closed systems: nodes, trees of queues, and gangs of which none comes, ends or changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from property.naive_queues import NaiveTree, Node
from search import manifests
from search.manifests import Manifest

RESOURCES: Final = ("cpu", "example.com/chip")
NONE: Final = "none"
FAIRNESS: Final = ("Priority", "DRS", "DRF", "FairShare")
WITHIN: Final = ("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM: Final = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any", "Any")
TIGHT: Final = 0.5
"""How many of the systems are small and full."""
NO_LIMIT: Final = None


@dataclass
class Policy:
    """What a queue says of evictions; the names are those of our Queue."""

    reclaim: str = "Any"
    within: str = "LowerPriority"
    borrowing: str = "Never"
    threshold: int | None = None
    fence: bool = False
    may_lose: bool = True
    may_lose_to: tuple[str, ...] | None = None
    strict: bool = False


@dataclass
class Gang:
    """A gang of pods that are alike; `nodes` are where they run, none while it waits."""

    name: str
    tree: str
    queue: str
    pods: int
    minimum: int
    requests: Mapping[str, int]
    priority: int
    created: int
    nodes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of its pods."""
        return [f"{self.name}-{number}" for number in range(self.pods)]

    def charge(self, pods: int) -> dict[str, int]:
        """Return what so many of its pods are charged."""
        return {r: amount * pods for r, amount in self.requests.items()}


@dataclass
class Tree:
    """A tree of queues of ours or of Kueue; the queues are those of `naive` by name."""

    kind: str
    fairness: str
    naive: NaiveTree
    policies: dict[str, Policy]
    written: list[Manifest]


@dataclass
class System:
    """A closed system; `flags` are those of `simulate` that it needs."""

    nodes: dict[str, dict[str, int]]
    trees: dict[str, Tree] = field(default_factory=dict)
    gangs: list[Gang] = field(default_factory=list)
    kueue_fairness: str = "Priority"

    def documents(self) -> list[Manifest]:
        """Return all as manifests."""
        rooms = {name: {**room, "pods": 100} for name, room in self.nodes.items()}
        found = [manifests.node(name, room, {}) for name, room in rooms.items()]
        for tree in self.trees.values():
            found += tree.written
        for gang in self.gangs:
            found += _written(gang, self.trees[gang.tree].kind)
        return found


def system(seed: int) -> System:
    """Return the system of a seed."""
    dice = Random(seed)  # noqa: S311 - the same system for a seed, every time.
    resources = RESOURCES[: 1 if dice.random() < 0.7 else 2]
    nodes = {
        f"n{number}": {r: dice.randint(3, 9) for r in resources}
        for number in range(dice.choice((1, 1, 2, 3)))
    }
    made = System(nodes)
    if dice.random() < TIGHT:
        return _tight(dice)
    whole = {r: sum(room[r] for room in nodes.values()) for r in resources}
    kinds = dice.choice((("ours",), ("ours",), ("kueue",), ("ours", "kueue")))
    most = 12 // len(kinds)
    for kind in kinds:
        draw = _ours if kind == "ours" else _kueue
        made.trees[kind] = draw(dice, resources, whole, most)
    if "kueue" in made.trees:
        made.kueue_fairness = made.trees["kueue"].fairness
    _draw_gangs(dice, made, resources)
    return made


def _tight(dice: Random) -> System:
    """Return a system of a few queues and gangs of which hardly two run at once."""
    room = dice.randint(4, 7)
    made = System({"n0": {"cpu": room}})
    draw = dice.choice((_ours, _ours, _kueue))
    tree = draw(dice, ("cpu",), {"cpu": room}, dice.randint(2, 4))
    made.trees[tree.kind] = tree
    made.kueue_fairness = tree.fairness if tree.kind == "kueue" else "Priority"
    leaves = _leaves(made)
    for number in range(dice.randint(3, 7)):
        kind, queue = dice.choice(leaves)
        requests, priority = {"cpu": dice.randint(1, room)}, dice.randint(0, 3)
        made.gangs.append(Gang(f"g{number}", kind, queue, 1, 1, requests, priority, number * 10))
    dice.choice(made.gangs).nodes = ("n0",)
    return made


# Queues.


def _shape(dice: Random, most: int) -> list[tuple[str, str | None]]:
    """Return queues with their parents, at least two, up to three levels below the root."""
    found: list[tuple[str, str | None]] = []

    def grow(above: str | None, depth: int) -> None:
        for _ in range(dice.randint(2 if above is None else 1, 3)):
            if len(found) < most:
                name = f"q{len(found)}"
                found.append((name, above))
                if depth < 3 and dice.random() < 0.3:
                    grow(name, depth + 1)

    grow(None, 1)
    return found


def _policy(dice: Random, names: list[str]) -> Policy:
    return Policy(
        reclaim=dice.choice(RECLAIM),
        within=dice.choice(WITHIN),
        borrowing=dice.choice(("Never", "LowerPriority", "LowerPriority")),
        threshold=dice.choice((None, None, None, dice.randint(0, 2))),
        fence=dice.random() < 0.08,
        may_lose=dice.random() < 0.93,
        may_lose_to=tuple(dice.sample(names, k=1)) if dice.random() < 0.08 else None,
        strict=dice.random() < 0.15,
    )


def _ours(dice: Random, resources: tuple[str, ...], whole: Mapping[str, int], most: int) -> Tree:
    shape = _shape(dice, most)
    names = [name for name, _ in shape]
    parents = {above for _, above in shape}
    fairness = dice.choice(FAIRNESS)
    nodes = {"root": Node("root")}
    policies, said = {NONE: Policy(), "root": Policy()}, dict[str, dict[str, Any]]()
    for name, above in shape:
        node = nodes[name] = Node(name, above or "root")
        policies[name] = policy = _policy(dice, names)
        spec = said[name] = _our_policy(policy)
        spec["weight"] = node.weight = dice.choice((0, 1, 1, 1, 2, 3))
        if above:
            spec["parent"] = above
        soft = {r: dice.choice((0, dice.randint(1, 6))) for r in resources}
        quota: dict[str, Any] = {"soft": soft}
        if dice.random() < 0.25:
            node.guaranteed = {r: dice.randint(0, amount) for r, amount in soft.items()}
            quota["guaranteed"] = dict(node.guaranteed)
        if dice.random() < 0.15:
            node.limit = {r: amount + dice.randint(0, 4) for r, amount in soft.items()}
            quota["hard"] = dict(node.limit)
        spec["quota"] = quota
        node.nominal = dict(soft)
        lends = dice.choice((None, None, None, None, None, 0, 0.5))
        node.borrowing = dict.fromkeys(resources, NO_LIMIT if lends is None else 0)
        if lends != 0:
            spec["borrowing"] = {"enabled": True}
        if lends == 0.5:
            spec["borrowing"]["maxBorrowRatio"] = lends
    nodes[NONE] = Node(NONE, "root")
    tree = NaiveTree([*nodes.values()], resources)
    root: dict[str, Any] = {"fairness": fairness}
    if dice.random() < 0.7:
        some = {r: dice.randint(amount // 2, amount + 3) for r, amount in whole.items()}
        root["quota"] = {"soft": some}
    _pool(tree, said, parents, root, whole)
    written = [_queue("root", root), *(_queue(name, spec) for name, spec in said.items())]
    return Tree("ours", fairness, tree, policies, written)


def _pool(
    tree: NaiveTree,
    said: Mapping[str, Mapping[str, Any]],
    parents: set[str | None],
    root: Mapping[str, Any],
    whole: Mapping[str, int],
) -> None:
    """Replace what parents declare in all by what they have beside their children."""
    for name in reversed([*said]):
        node = tree.nodes[name]
        if name in parents:
            declared, node.nominal = node.nominal, {}
            node.nominal = {r: max(0, declared[r] - tree.c(name, r)) for r in tree.resources}
            node.guaranteed = {r: min(g, tree.n(name, r)) for r, g in node.guaranteed.items()}
        ratio = said[name].get("borrowing", {}).get("maxBorrowRatio")
        if ratio is not None:
            node.borrowing = {r: int(ratio * tree.n(name, r)) for r in tree.resources}
    declared = root.get("quota", {}).get("soft", whole)
    top = tree.nodes["root"]
    top.nominal = {r: max(0, declared[r] - tree.c("root", r)) for r in tree.resources}


def _our_policy(policy: Policy) -> dict[str, Any]:
    rules: dict[str, Any] = {"withinQueue": policy.within, "reclaim": policy.reclaim}
    borrowing: dict[str, Any] = {"policy": policy.borrowing}
    if policy.threshold is not None:
        borrowing["maxPriorityThreshold"] = policy.threshold
    rules["whileBorrowing"] = borrowing
    if policy.fence:
        rules["fence"] = True
    if not policy.may_lose:
        rules["allowPreemption"] = False
    if policy.may_lose_to is not None:
        rules["allowPreemptFrom"] = list(policy.may_lose_to)
    strategy = {"strategy": "StrictFIFO"} if policy.strict else {}
    return {"preemption": rules, **strategy}


def _queue(name: str, spec: Mapping[str, Any]) -> Manifest:
    body = _unscoped("py-gang-scheduler.io/v1alpha1", "Queue", name)
    return {**body, "spec": dict(spec)}


def _kueue(dice: Random, resources: tuple[str, ...], whole: Mapping[str, int], most: int) -> Tree:
    shape = [(f"k{name}", above and f"k{above}") for name, above in _shape(dice, most)]
    parents = {above for _, above in shape}
    names = [name for name, _ in shape]
    nodes, policies = {"co": Node("co")}, {"co": Policy()}
    written = [_of_kueue("ResourceFlavor", "default", {})]
    for name, above in [("co", None), *shape]:
        node = nodes[name] = Node(name, None if name == "co" else above or "co")
        policy = policies[name] = _policy(dice, names)
        # None of these is Kueue's.
        policy.fence, policy.may_lose, policy.may_lose_to = False, True, None
        node.weight = dice.choice((0, 1, 1, 2))
        share = 2 if name == "co" else 1
        node.nominal = {r: dice.choice((0, dice.randint(1, whole[r] // share))) for r in resources}
        limited = name != "co"
        if limited and dice.random() < 0.25:
            node.lending = {r: dice.randint(0, node.nominal[r]) for r in resources}
        node.borrowing = dict.fromkeys(resources, NO_LIMIT)
        if limited and dice.random() < 0.25:
            node.borrowing = {r: dice.randint(0, 5) for r in resources}
        interior = name == "co" or name in parents
        written += [*_kueue_object(node, policy, interior=interior)]
    fairness, tree = dice.choice(("Priority", "DRS")), NaiveTree([*nodes.values()], resources)
    return Tree("kueue", fairness, tree, policies, written)


def _kueue_object(node: Node, policy: Policy, *, interior: bool) -> Iterator[Manifest]:
    quotas = []
    for r, amount in node.nominal.items():
        quota: dict[str, Any] = {"name": r, "nominalQuota": str(amount)}
        if r in node.lending:
            quota["lendingLimit"] = str(node.lending[r])
        if node.borrowing.get(r) is not None:
            quota["borrowingLimit"] = str(node.borrowing[r])
        quotas.append(quota)
    spec: dict[str, Any] = {
        "resourceGroups": [
            {
                "coveredResources": list(node.nominal),
                "flavors": [{"name": "default", "resources": quotas}],
            }
        ],
        "fairSharing": {"weight": str(node.weight)},
    }
    if interior:
        parent = {"parentName": node.parent} if node.parent else {}
        yield _of_kueue("Cohort", node.name, {**spec, **parent})
        return
    borrowing: dict[str, Any] = {"policy": policy.borrowing}
    if policy.threshold is not None and policy.borrowing != "Never":
        borrowing["maxPriorityThreshold"] = policy.threshold
    if policy.reclaim == "LowerOrNewerEqualPriority":
        policy.reclaim = "LowerPriority"
    preemption = {
        "withinClusterQueue": policy.within,
        "reclaimWithinCohort": policy.reclaim,
        "borrowWithinCohort": borrowing,
    }
    yield _of_kueue(
        "ClusterQueue",
        node.name,
        {
            **spec,
            "cohortName": node.parent,
            "namespaceSelector": {},
            "preemption": preemption,
            "queueingStrategy": "StrictFIFO" if policy.strict else "BestEffortFIFO",
        },
    )
    local = manifests.manifest("kueue.x-k8s.io/v1beta2", "LocalQueue", node.name)
    yield {**local, "spec": {"clusterQueue": node.name}}


def _of_kueue(kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {**_unscoped("kueue.x-k8s.io/v1beta2", kind, name), "spec": dict(spec)}


def _unscoped(version: str, kind: str, name: str) -> Manifest:
    body = manifests.manifest(version, kind, name)
    del body["metadata"]["namespace"]
    return body


# Gangs.


def _leaves(made: System) -> list[tuple[str, str]]:
    return [
        (kind, name)
        for kind, tree in made.trees.items()
        for name in tree.policies
        if name not in ("root", "co") and not tree.naive.children(name)
    ]


def _draw_gangs(dice: Random, made: System, resources: tuple[str, ...]) -> None:
    leaves = _leaves(made)
    free = {name: dict(room) for name, room in made.nodes.items()}
    priorities = dice.choice(((0,), (0, 1), (0, 1, 2, 3), (0, 1, 2, 3)))
    most = dice.choice((8, 16, 40))
    for number in range(dice.randint(3, most)):
        kind, queue = dice.choice(leaves)
        pods = dice.choice((1, 1, 1, 2, 3))
        minimum = pods if dice.random() < 0.8 else dice.randint(1, pods)
        requests = {r: dice.choice((1, 1, 2, 2, 3, 4)) for r in resources}
        if len(resources) > 1 and dice.random() < 0.4:
            requests.pop(dice.choice(resources))
        gang = Gang(
            f"g{number}", kind, queue, pods, minimum, requests, dice.choice(priorities), number * 10
        )
        if dice.random() < 0.7:
            gang.nodes = _placed(dice, gang, free)
        made.gangs.append(gang)


def _placed(dice: Random, gang: Gang, free: dict[str, dict[str, int]]) -> tuple[str, ...]:
    """Return where the pods of a gang run, whatever quotas say; nowhere if there is no room."""
    found: list[str] = []
    left = {name: dict(room) for name, room in free.items()}
    for _ in range(gang.pods):
        fitting = [
            name
            for name, room in left.items()
            if all(room[r] >= amount for r, amount in gang.requests.items())
        ]
        if not fitting:
            return ()
        found.append(dice.choice(fitting))
        for r, amount in gang.requests.items():
            left[found[-1]][r] -= amount
    free.update(left)
    return tuple(found)


def _written(gang: Gang, kind: str) -> Iterator[Manifest]:
    key = "py-gang-scheduler.io/queue" if kind == "ours" else "kueue.x-k8s.io/queue-name"
    named = {} if gang.queue == NONE else {key: gang.queue}
    about = {"labels": named, "created": gang.created}
    body = manifests.manifest("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", gang.name, **about)
    yield {**body, "spec": {"minMember": gang.minimum}}
    requests = {r: str(amount) for r, amount in gang.requests.items()}
    for number, name in enumerate(gang.names):
        labels = {**named, manifests.POD_GROUP_LABEL: gang.name}
        pod = manifests.manifest("v1", "Pod", name, labels=labels, created=gang.created)
        spec: dict[str, Any] = {
            "schedulerName": "py-gang-scheduler",
            "priority": gang.priority,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        }
        status: dict[str, Any] = {"phase": "Pending"}
        if gang.nodes:
            spec["nodeName"] = gang.nodes[number]
            status = {"phase": "Running", "startTime": manifests.when(gang.created)}
        yield {**pod, "spec": spec, "status": status}
