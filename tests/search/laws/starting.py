"""Laws on what is bound: gangs whole, groups together, nodes not over-committed, rules kept."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from search import network, pod_affinity
from search.cases import Case
from search.facts import Gang, Pod
from search.groups import Crowd
from search.manifests import KUEUE
from search.network import Path


def lists(case: Case) -> Iterator[str]:
    """Check that each pod of ours that waits is in exactly one list, and no other is in any."""
    counted: Counter[str] = Counter()
    for name in ("bindings", "nominations"):
        counted.update(row["pod"] for row in case.once.rows(name))
    counted.update(pod for row in case.once.rows("unschedulable") for pod in row["pods"])
    wanted = {pod.key for pod in case.waiting}
    for key in sorted(wanted | counted.keys()):
        if counted[key] != (key in wanted):
            yield f"{key} is in {counted[key]} lists"


def quorums(case: Case) -> Iterator[str]:
    """Check that no gang starts in part: each has its own minimum once its members are bound."""
    cycle = case.once.cycles[0]
    for gang in case.gangs.values():
        bound = [pod for pod in gang.waiting if pod.key in cycle.binds]
        coming = [p for p in gang.waiting if p.key in {**cycle.binds, **cycle.nominations}]
        left = [pod for pod in gang.bound if pod.key not in cycle.victims]
        lost = len(gang.bound) - len(left)
        if coming and lost and not gang.is_quorum([*left, *coming]):
            here = f"{len(left)} + {len(coming)}"
            yield f"{gang.name} has {here} of {dict(gang.roles)}, and loses {lost}"
        elif bound and not gang.places_alone:
            for role, needed in gang.needs.items():
                if len(gang.of_role(role, bound)) < needed:
                    yield f"{gang.name} binds {len(bound)}, and needs {needed} {role}"


def groups(case: Case) -> Iterator[str]:
    """Check that of gangs that start together all start or none does."""
    cycle = case.once.cycles[0]
    for group in case.groups:
        bound = {g.name: [p for p in g.waiting if p.key in cycle.binds] for g in group.gangs}
        if not any(bound.values()):
            continue
        if group.missing:
            yield f"{sorted(bound)} start, and a gang of their group does not exist"
        for gang in group.gangs:
            if not gang.started and not gang.is_quorum([*gang.bound, *bound[gang.name]]):
                here = len(bound[gang.name])
                yield f"{gang.name} has {here} of {dict(gang.roles)}, and others start"


def places(case: Case) -> Iterator[str]:
    """Check that nodes are open to what is bound there, and have the room for it."""
    cycle = case.once.cycles[0]
    room = case.room(cycle.binds.items())
    fresh: dict[str, list[Pod]] = {}
    for key, node in cycle.binds.items():
        fresh.setdefault(node, []).append(case.pods[key])
        if not room.is_open(case.pods[key], node):
            yield f"{key} is on {node}, which is not open to it"
    for node, pods in fresh.items():
        if over := room.overfull(node, pods):
            yield f"{node} is over-committed: {over}"
        taken = Counter(port for pod in room.on[node] for port in pod.ports)
        if any(taken[port] > 1 for pod in pods for port in pod.ports):
            yield f"{node} has a port twice"
    alike = [pod for pod in case.pods.values() if pod.spec.get("topologySpreadConstraints")]
    if not alike:
        yield from pod_affinity.complaints(room, [pod for pods in fresh.values() for pod in pods])


def nominations(case: Case) -> Iterator[str]:
    """Check that all that is bound and nominated fits together, once those that leave have left."""
    cycle = case.once.cycles[0]
    decided = [*cycle.binds.items(), *cycle.nominations.items()]
    room = case.room(decided, cycle.victims, later=True)
    if not case.is_clear:
        return
    fresh: dict[str, list[Pod]] = {}
    for key, node in cycle.nominations.items():
        fresh.setdefault(node, []).append(case.pods[key])
        if node not in room.nodes or not room.is_open(case.pods[key], node):
            yield f"{key} is nominated to {node}, which is not open to it"
    for node, pods in fresh.items():
        if node in room.nodes and (over := room.overfull(node, pods)):
            yield f"{node} is promised more than it will have: {over}"


def gathering(case: Case) -> Iterator[str]:
    """Check that members that must gather are in one domain, with those from before."""
    cycle = case.once.cycles[0]
    for decided in (cycle.binds, cycle.nominations):
        for group in case.groups:
            chosen = [pod for pod in group.pods if pod.key in decided]
            for crowd in group.crowds(case.trees, chosen) if chosen else ():
                # Mates may have become victims before the gang was decided, or after that.
                staying = [mate for mate in crowd.bound_members if mate.key not in cycle.victims]
                homes = [
                    _homes(case, crowd, decided, bound_members)
                    for bound_members in (crowd.bound_members, staying)
                ]
                if all(homes):
                    names = [pod.key for pod in crowd.pods]
                    yield f"{names} must gather, and are in {sorted(homes[0])}"


def _homes(
    case: Case, crowd: Crowd, decided: Mapping[str, str], bound_members: Sequence[Pod]
) -> set[Path]:
    """Return the domains that members are in with these mates, if those are too many."""
    if crowd.place is None:
        return set()
    tree, depth = crowd.place.tree, crowd.place.depth
    nodes = [decided[pod.key] for pod in crowd.pods]
    paths = [tree.path(case.nodes[node]["metadata"]["labels"]) for node in nodes]
    before = {
        tree.path(case.nodes[mate.node]["metadata"]["labels"])
        for mate in bound_members
        if mate.node in case.nodes
    }
    homes = {path[:depth] for path in (*paths, *before)}
    alone = {path[:depth] for path in before}
    scattered = len(homes) > 1 and len(alone) <= 1 and all(before)
    return homes if scattered or not all(paths) else set()


def slices(case: Case) -> Iterator[str]:
    """Check that each run of ranks is in one domain, counted in the gang as first placed."""
    cycle = case.once.cycles[0]
    for gang in case.gangs.values():
        parts: dict[tuple[tuple[str, str], ...], list[Pod]] = {}
        for pod in gang.in_order(gang.members):
            parts.setdefault(pod.podset, []).append(pod)
        for podset, pods in parts.items():
            asked = dict(podset)
            layer = asked.get(KUEUE + "slice-required-topology")
            if not layer or not _is_fixed(gang, pods) or KUEUE + "group-name" in asked:
                continue
            size, place = int(asked[KUEUE + "slice-size"]), network.by_key(case.trees, layer)
            where = [pod.node or cycle.binds.get(pod.key, "") for pod in pods]
            old = {pod.key for pod in pods if pod.node}
            for start in range(0, len(pods), size):
                run = pods[start : start + size]
                paths = {
                    pod.key: place.tree.path(case.nodes[node]["metadata"]["labels"])[: place.depth]
                    for pod, node in zip(run, where[start : start + size], strict=True)
                    if node in case.nodes
                }
                settled = {path for key, path in paths.items() if key in old}
                fresh = [key for key in paths if key not in old]
                if () in settled:
                    continue  # A node without the label is in no domain to join.
                if fresh and len(settled) <= 1 and len(set(paths.values())) > 1:
                    yield f"{[pod.key for pod in run]} are a run, and are in {paths}"


def _is_fixed(gang: Gang, pods: list[Pod]) -> bool:
    """Return whether the positions in the whole gang are known: all of them are there."""
    everyone = len(gang.members) == gang.minimum
    return everyone and len({pod.podset for pod in gang.members}) == 1 and bool(pods)


LAWS = (lists, quorums, groups, places, nominations, gathering, slices)
