"""Clusters, queues and gangs in the form of `queue-cases.yaml`, read without the scheduler's code.

Only what evictions between queues depend on is read, for gangs of identical members. Times are in
seconds before now.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

from property.naive_queues import NaiveTree, Node

Case = Mapping[str, Any]

UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
SECONDS = {"s": 1, "m": 60, "h": 3600}
BIG = {"name": "big", "allocatable": {"cpu": 1000, "memory": "4000Gi", "nvidia.com/gpu": 1000}}
NONE = "ours/none"
CAPPED = 24 * 3600
"""The most work that a pod can lose, in seconds."""


@dataclass(frozen=True)
class Rules:
    """Which gangs a gang of a queue may evict, and which may evict those of the queue."""

    within: str = "Never"
    reclaim: str = "Never"
    borrowing: str = "Never"
    threshold: int | None = None
    allowed: bool = True
    allowed_from: frozenset[str] | None = None
    fence: bool = False
    min_runtime: int = 0
    lenders: frozenset[str] | None = None
    stop_when_borrowing: bool = True
    stop_when_evicting: bool = False
    rather_evicts: bool = False


@dataclass(frozen=True)
class Gang:
    """Identical members. `nodes` are those of its members while it runs; `leaf` names its queue.

    `free` are gangs of other schedulers that name no queue: they only take room.
    """

    name: str
    leaf: str
    requests: Mapping[str, int]
    pods: int = 1
    minimum: int = 1
    priority: int = 0
    age: float = 0
    nodes: tuple[str, ...] = ()
    ran: int = 0
    saved: int | None = None
    flavors: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    evictable: bool = True
    free: bool = False
    never: bool = False
    leaving: bool = False
    overran_for: str | None = None
    yielded: tuple[tuple[str, str], ...] = ()
    budget: int | None = None

    @property
    def lost(self) -> int:
        """What a member loses of its work, in seconds."""
        return min(self.ran if self.saved is None else min(self.saved, self.ran), CAPPED)

    def charge(self, pods: int) -> dict[str, int]:
        """Return what some of its members are charged."""
        if self.free:
            return {}
        found: dict[str, int] = defaultdict(int)
        for resource, amount in self.requests.items():
            found[f"{self.flavors.get(resource, 'default')}/{resource}"] += amount * pods
        return {key: amount for key, amount in found.items() if amount}


class Tree(NaiveTree):
    """A tree whose keys are `flavor/resource`. What no charge changes is reckoned once.

    `groups` are, for each leaf, its resource groups: the resources, and flavors by preference.
    """

    def __init__(self, nodes: list[Node], keys: tuple[str, ...], fairness: str) -> None:
        super().__init__(nodes, keys)
        self.fairness = fairness
        self.most: dict[str, int] = {}
        self.rules: dict[str, Rules] = {}
        self.groups: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
        self.fixed: dict[str, dict[str, Fraction]] = {}
        for name in ("children", "way", "n", "c", "g", "root", "potential"):
            setattr(self, name, cache(getattr(self, name)))

    def load(self, charges: Mapping[str, Mapping[str, int]]) -> None:
        """Let the leaves be charged this and nothing else."""
        for name, node in self.nodes.items():
            node.charged = {k: v for k, v in charges.get(name, {}).items() if k in self.resources}

    def potential(self, name: str, key: str) -> int:
        """Return what a queue could ever give."""
        return NaiveTree(list(self.emptied().nodes.values()), self.resources).room(name, key)

    def ask(self, leaf: str, charge: Mapping[str, int]) -> None:
        """Let a gang wait in a leaf."""
        asked = self.nodes[leaf].asked
        for key, amount in charge.items():
            if key in self.resources:
                asked[key] = asked.get(key, 0) + amount

    def fix_fair_shares(self) -> None:
        """Divide by what runs and waits now: plans do not move fair shares."""
        self.fixed = {key: self._divided_below(key) for key in self.resources}

    def _divided_below(self, key: str) -> dict[str, Fraction]:
        promised = self.c(self.root(), key)
        most = min(promised, self.most.get(key, promised))
        shares, waiting = {self.root(): Fraction(most)}, [self.root()]
        while waiting:
            name = waiting.pop()
            shares.update(self._divided(shares[name], self.children(name), key))
            waiting.extend(self.children(name))
        return shares


@dataclass
class World:
    """A cluster. `free` is by node what pods can have; `flavors` are node labels by name."""

    trees: list[Tree]
    nodes: dict[str, dict[str, int]]
    labels: dict[str, Mapping[str, str]]
    flavors: dict[str, Mapping[str, str]]
    running: list[Gang]
    pending: list[Gang]
    strategies: tuple[str, ...]

    def tree_of(self, name: str) -> Tree:
        """Return the tree that has a queue."""
        return next(tree for tree in self.trees if name in tree.nodes)


def amount(value: Any, resource: str = "") -> int:
    """Return a quantity as an integer, CPUs in thousandths."""
    text = str(value)
    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    found = Fraction(text.removesuffix(unit)) * UNITS.get(unit, 1)
    return int(found * 1000 if resource == "cpu" else found)


def amounts(values: Mapping[str, Any] | None) -> dict[str, int]:
    """Return quantities by resource."""
    return {resource: amount(value, resource) for resource, value in (values or {}).items()}


def seconds(text: Any) -> int:
    """Return a duration of one unit."""
    return int(text[:-1]) * SECONDS[text[-1]] if text else 0


def world(case: Case, sets: Mapping[str, list[Case]]) -> World:
    """Return what a case declares; `sets` are what it may use by name."""
    used = case.get("use", [])
    objects = [each for n in ([used] if isinstance(used, str) else used) for each in sets[n]]
    objects += case.get("objects") or []
    nodes = {
        each["name"].replace("{i}", str(number)): each
        for each in case.get("nodes", [BIG])
        for number in range(each.get("repeat", 1))
    }
    rooms = {name: amounts(node["allocatable"]) for name, node in nodes.items()}
    labels = {name: node.get("labels", {}) for name, node in nodes.items()}
    flavors = {
        each["name"]: each.get("spec", {}).get("nodeLabels", {})
        for each in objects
        if each["kind"] in ("ResourceFlavor", "Flavor")
    }
    arguments = [str(each) for each in case.get("args") or []]
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    whole = _whole(rooms, labels, flavors)
    trees = [
        _ours([each for each in objects if each["kind"] == "Queue"], whole),
        *_kueues(objects, options.get("--kueue-fairness", "Priority")),
    ]
    if any(each["kind"] == "VolcanoQueue" for each in objects):
        trees.append(_volcanos([e for e in objects if e["kind"] == "VolcanoQueue"], whole))
    kinds = {each["kind"] for each in objects}
    product = (
        "kueue" if "ClusterQueue" in kinds else "volcano" if "VolcanoQueue" in kinds else "ours"
    )
    found = World(trees, rooms, labels, flavors, [], [], _strategies(options))
    first = next(iter(nodes))
    product = case.get("via") or product
    for gang in case.get("running", []):
        found.running.append(_running(found, gang, product, first))
    for place, gang in enumerate(case.get("pending", [])):
        found.pending.append(_gang(gang, product, gang.get("age", 100 - place)))
    return found


def _strategies(options: Mapping[str, str]) -> tuple[str, ...]:
    both = "LessThanOrEqualToFinalShare,LessThanInitialShare"
    return tuple(options.get("--fair-strategies", both).split(","))


def _whole(
    rooms: Mapping[str, Mapping[str, int]],
    labels: Mapping[str, Mapping[str, str]],
    flavors: Mapping[str, Mapping[str, str]],
) -> dict[str, int]:
    """Return what the nodes of each flavor have together."""
    found: dict[str, int] = defaultdict(int)
    for name, room in rooms.items():
        for flavor, wanted in {"default": {}, **flavors}.items():
            if all(labels[name].get(key) == value for key, value in wanted.items()):
                for resource, value in room.items():
                    found[f"{flavor}/{resource}"] += value
    return dict(found)


# Gangs.


def _gang(source: Case, product: str, age: float) -> Gang:
    product = source.get("via") or product
    status = source.get("status", {})
    yielded = status.get("evictions", {}).get("yieldedTo", [])
    backfill = status.get("backfill", {})
    saved = status.get("checkpoint", {}).get("doneAt")
    over = backfill and float(backfill["until"][1:]) < 0
    return Gang(
        source["gang"],
        f"{product}/{source['queue']}" if source.get("queue") else NONE,
        amounts(source.get("requests")),
        pods=source.get("pods", 1),
        minimum=source.get("min", source.get("pods", 1)),
        priority=source.get("priority", 0),
        age=age,
        flavors=source.get("flavors", {}),
        selector=source.get("selector", {}),
        evictable="scheduler" not in source,
        free="scheduler" in source and not source.get("queue"),
        never=source.get("preemptionPolicy") == "Never",
        leaving=source.get("deleting", False),
        overran_for=backfill["for"].removeprefix("default/") if over else None,
        yielded=tuple((each["by"].removeprefix("default/"), each["class"]) for each in yielded),
        saved=None if saved is None else -int(saved[1:]),
        budget=source.get("budget"),
    )


def _running(found: World, source: Case, product: str, first: str) -> Gang:
    started = source.get("started", 3600)
    gang = _gang(source, product, source.get("age", started + 60))
    nodes = source.get("node", first)
    named = [nodes] if isinstance(nodes, str) else nodes
    places = tuple(named[number % len(named)] for number in range(gang.pods))
    flavors = gang.flavors or _flavors_at(found, gang, places[0])
    return replace(gang, ran=started, nodes=places, flavors=flavors)


def _flavors_at(found: World, gang: Gang, node: str) -> dict[str, str]:
    """Return the first flavor of each resource that has a node."""
    return {
        resource: flavor
        for resources, flavors in found.tree_of(gang.leaf).groups.get(gang.leaf, [])
        for flavor in reversed(flavors)
        if all(found.labels[node].get(k) == v for k, v in found.flavors.get(flavor, {}).items())
        for resource in resources
    }


# Trees: one reader a product.


def _keys(tables: list[dict[str, int]]) -> tuple[str, ...]:
    return tuple(sorted({key for each in tables for key in each}))


def _by_flavor(spec: Case) -> Iterator[tuple[str, Case]]:
    for each in spec.get("flavors", []):
        yield each["name"], each["quota"]
    if "quota" in spec:
        yield "default", spec["quota"]


def _ours(objects: list[Case], whole: Mapping[str, int]) -> Tree:
    specs = {"root": {}, "none": {}, **{each["name"]: each.get("spec", {}) for each in objects}}
    tables: dict[str, dict[str, dict[str, int]]] = {}
    for name, spec in specs.items():
        tables[name] = {"soft": {}, "hard": {}, "guaranteed": {}}
        for flavor, quota in _by_flavor(spec):
            for kind, table in tables[name].items():
                got = amounts(quota.get(kind))
                table.update({f"{flavor}/{resource}": value for resource, value in got.items()})
    above = {
        name: None if name == "root" else spec.get("parent", "root") for name, spec in specs.items()
    }
    keys = _keys([table for each in tables.values() for table in each.values()])
    nodes = {
        name: Node(
            f"ours/{name}",
            None if above[name] is None else f"ours/{above[name]}",
            guaranteed=dict(tables[name]["guaranteed"]),
            limit=dict(tables[name]["hard"]),
            weight=spec.get("weight", 1),
        )
        for name, spec in specs.items()
    }
    tree = Tree(list(nodes.values()), keys, specs["root"].get("fairness", "FairShare"))
    for name in _upwards(above):
        for key in keys:
            _promise(tree, nodes[name], tables[name], key, whole)
    for name, spec in specs.items():
        _bound(tree, nodes[name], spec.get("borrowing", {}), free=name in ("none", "root"))
        tree.rules[f"ours/{name}"] = _our_rules(name, spec)
        flavors = tuple(flavor for flavor, _ in _by_flavor(spec)) or ("default",)
        resources = tuple({key.partition("/")[2] for key in keys})
        tree.groups[f"ours/{name}"] = [(resources, flavors)]
    tree.most = dict(whole)
    return tree


def _upwards(above: Mapping[str, str | None]) -> list[str]:
    def depth(name: str) -> int:
        parent = above[name]
        return 0 if parent is None else 1 + depth(parent)

    return sorted(above, key=depth, reverse=True)


def _promise(
    tree: Tree, node: Node, table: dict[str, dict[str, int]], key: str, whole: Mapping[str, int]
) -> None:
    """Set the nominal of a leaf, or the pool of a queue with others below it."""
    below = [child for child in tree.nodes.values() if child.parent == node.name]
    promised = sum(_promised(tree, child, key) for child in below)
    if not below and node.parent is not None:
        kinds = (table["soft"], table["hard"], table["guaranteed"])
        node.nominal[key] = next((each[key] for each in kinds if key in each), 0)
    elif key in table["soft"]:
        node.nominal[key] = max(0, table["soft"][key] - promised)
    elif node.parent is None and not table["soft"]:
        node.nominal[key] = max(0, whole.get(key, 0) - promised)
    else:
        node.nominal[key] = 0


def _promised(tree: Tree, node: Node, key: str) -> int:
    below = [child for child in tree.nodes.values() if child.parent == node.name]
    return node.nominal.get(key, 0) + sum(_promised(tree, child, key) for child in below)


def _bound(tree: Tree, node: Node, borrowing: Case, *, free: bool) -> None:
    """Set how far a queue may borrow."""
    ratio = borrowing.get("maxBorrowRatio")
    for key in tree.resources:
        if not free and not borrowing.get("enabled"):
            node.borrowing[key] = 0
        elif ratio is not None:
            node.borrowing[key] = int(Fraction(str(ratio)) * tree.n(node.name, key))


def _our_rules(name: str, spec: Case) -> Rules:
    said = spec.get("preemption", {})
    borrowing = said.get("whileBorrowing", {})
    sources = said.get("allowPreemptFrom")
    lenders = spec.get("borrowing", {}).get("allowedQueues")
    return Rules(
        within=said.get("withinQueue", "LowerPriority"),
        reclaim="Never" if name == "none" else said.get("reclaim", "Any"),
        borrowing=borrowing.get("policy", "Never"),
        threshold=borrowing.get("maxPriorityThreshold"),
        allowed=said.get("allowPreemption", True),
        allowed_from=None if sources is None else frozenset(f"ours/{each}" for each in sources),
        fence=said.get("fence", False),
        min_runtime=seconds(said.get("minRuntime")),
        lenders=None if lenders is None else frozenset(f"ours/{each}" for each in lenders),
        **_search(spec.get("flavorFungibility", {})),
    )


def _search(said: Case) -> dict[str, Any]:
    return {
        "stop_when_borrowing": said.get("whenCanBorrow") != "TryNextFlavor",
        "stop_when_evicting": said.get("whenCanPreempt", "TryNextFlavor") != "TryNextFlavor",
        "rather_evicts": said.get("preference") == "PreemptionOverBorrowing",
    }


def _kueues(objects: list[Case], fairness: str) -> list[Tree]:
    nodes, rules, groups = {}, {}, {}
    for each in objects:
        if each["kind"] not in ("ClusterQueue", "Cohort"):
            continue
        spec, name = each["spec"], f"kueue/{each['name']}"
        parent = spec.get("cohortName") or spec.get("parentName")
        node = nodes[name] = Node(name, f"kueue/{parent}" if parent else None)
        weight = Fraction(str(spec.get("fairSharing", {}).get("weight", 1)))
        node.weight = weight  # type: ignore[assignment]
        groups[name] = [
            (tuple(group["coveredResources"]), tuple(f["name"] for f in group["flavors"]))
            for group in spec.get("resourceGroups", [])
        ]
        for group in spec.get("resourceGroups", []):
            _kueue_quotas(node, group)
        said = spec.get("preemption", {})
        borrowing = said.get("borrowWithinCohort", {})
        rules[name] = Rules(
            within=said.get("withinClusterQueue", "Never"),
            reclaim=said.get("reclaimWithinCohort", "Never"),
            borrowing=borrowing.get("policy", "Never"),
            threshold=borrowing.get("maxPriorityThreshold"),
            **_search(spec.get("flavorFungibility", {})),
        )
    for node in list(nodes.values()):
        if node.parent is not None and node.parent not in nodes:
            nodes[node.parent] = Node(node.parent)
    return [
        _kueue_tree(root, nodes, rules, groups, fairness)
        for root in [node for node in nodes.values() if node.parent is None]
    ]


def _kueue_quotas(node: Node, group: Case) -> None:
    for flavor in group["flavors"]:
        for resource in flavor["resources"]:
            key = f"{flavor['name']}/{resource['name']}"
            node.nominal[key] = amount(resource["nominalQuota"], resource["name"])
            if "borrowingLimit" in resource:
                node.borrowing[key] = amount(resource["borrowingLimit"], resource["name"])
            if "lendingLimit" in resource:
                node.lending[key] = amount(resource["lendingLimit"], resource["name"])


def _kueue_tree(
    root: Node,
    nodes: Mapping[str, Node],
    rules: Mapping[str, Rules],
    groups: Mapping[str, list[tuple[tuple[str, ...], tuple[str, ...]]]],
    fairness: str,
) -> Tree:
    def top(node: Node) -> Node:
        return node if node.parent is None else top(nodes[node.parent])

    inside = [node for node in nodes.values() if top(node) is root]
    tree = Tree(inside, _keys([node.nominal for node in inside]), fairness)
    for node in inside:
        tree.rules[node.name] = rules.get(node.name, Rules())
        tree.groups[node.name] = groups.get(node.name, [])
    return tree


def _volcanos(objects: list[Case], whole: Mapping[str, int]) -> Tree:
    specs = {"root": {}, **{each["name"]: each.get("spec", {}) for each in objects}}
    nodes, tables = {}, {}
    for name, spec in specs.items():
        parent = None if name == "root" else f"volcano/{spec.get('parent', 'root')}"
        node = nodes[name] = Node(f"volcano/{name}", parent, weight=spec.get("weight", 1))
        guaranteed = spec.get("guarantee", {}).get("resource")
        tables[name] = {
            kind: {f"default/{resource}": value for resource, value in amounts(table).items()}
            for kind, table in (
                ("soft", spec.get("deserved")),
                ("hard", None),
                ("guaranteed", guaranteed),
                ("limit", spec.get("capability")),
            )
        }
        node.guaranteed = dict(tables[name]["guaranteed"])
        node.limit = dict(tables[name]["limit"])
    keys = _keys([table for each in tables.values() for table in each.values()])
    tree = Tree(list(nodes.values()), keys, "FairShare")
    above = {name: None if name == "root" else specs[name].get("parent", "root") for name in specs}
    for name in _upwards(above):
        for key in keys:
            _promise(tree, nodes[name], _with_floor(tables[name], key), key, whole)
        allowed = specs[name].get("reclaimable", True)
        tree.rules[f"volcano/{name}"] = Rules("LowerPriority", "Any", allowed=allowed)
        resources = tuple({key.partition("/")[2] for key in keys})
        tree.groups[f"volcano/{name}"] = [(resources, ("default",))]
    for name in _upwards(above):
        _keep_below(tree, nodes[name])
    tree.most = dict(whole)
    return tree


def _with_floor(table: dict[str, dict[str, int]], key: str) -> dict[str, dict[str, int]]:
    """Return what is deserved of a key: no less than what is guaranteed."""
    most = max(table[kind].get(key, 0) for kind in ("soft", "guaranteed"))
    return {**table, "soft": {**table["soft"], key: most}} if most else table


def _keep_below(tree: Tree, node: Node) -> None:
    """Let a guarantee include those of the queues below, which know theirs."""
    below = [each.name for each in tree.nodes.values() if node.name in tree.way(each.name)[1:]]
    for key, amount in list(node.guaranteed.items()):
        node.guaranteed[key] = max(0, amount - sum(tree.g(name, key) for name in below))
