"""The gangs of a random world: those that wait, those that run, and those between the two."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from search import bound_pods, manifests
from search.drawing import Drawing
from search.manifests import KOORDINATOR, ROLE, ROLES, Manifest
from search.requests import Request, draw_request

STATES = ("waits", "waits", "waits", "runs", "runs", "lost some", "in part")
POLICIES = ("only-waiting", "waiting-and-running", "once-satisfied")


@dataclass
class Gang:
    """A gang while it is being drawn. `bound` are the indexes of the members that have a node.

    `roles` are those of its members, by index; empty for a gang without roles.
    """

    name: str
    namespace: str
    source: str
    minimum: int
    members: int
    asks: list[dict[str, int]]
    request: Request
    priority: int
    state: str
    bound: frozenset[int] = frozenset()
    roles: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    rule: dict[str, Any] = field(default_factory=dict)


def draw(drawing: Drawing) -> None:
    """Draw gangs, with pods on the nodes and without, and single pods that wait."""
    dice = drawing.dice
    gangs = [_gang(drawing, name) for name in "abcde"[: dice.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))]]
    if "groups" in drawing.has:
        _join(drawing, gangs)
    for each in gangs:
        _give_roles(drawing, each)
        _describe(drawing, each)
        for index in range(each.members):
            _member(drawing, each, index)
    for number in range(dice.choice((0, 0, 0, 1, 2)) if gangs else 2):
        body = manifests.pod(
            *(f"single{number}", drawing.ask()),
            namespace=drawing.namespace(),
            created=drawing.moment(),
            spec=_spec(drawing, drawing.priority(runs=False)),
            labels={"app": "x"} if drawing.sometimes("pod affinity", 0.4) else {},
        )
        drawing.add(body)


def _gang(drawing: Drawing, name: str) -> Gang:
    dice = drawing.dice
    source = "PodGroup"
    if drawing.sometimes("native", 0.6):
        source = "native"
    elif drawing.sometimes("annotations", 0.6):
        source = "annotation"
    members = dice.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
    elastic = drawing.sometimes("elastic", 0.6)
    minimum = dice.choice((1, dice.randint(1, members))) if elastic else members
    state = dice.choice(STATES) if "started" in drawing.has else "waits"
    asks = [drawing.ask() for _ in range(2 if drawing.sometimes("classes", 0.6) else 1)]
    gang = Gang(
        *(name, drawing.namespace(), source, minimum, members, asks),
        request=draw_request(drawing, source),
        priority=drawing.priority(runs=state == "runs"),
        state=state,
    )
    gang.bound = _bound(drawing, gang)
    if drawing.sometimes("pod affinity", 0.5):
        gang.rule = _pod_affinity(drawing, name)
    return gang


def _give_roles(drawing: Drawing, gang: Gang) -> None:
    """Give the members of most gangs roles, and the roles minima that are the gang's in all."""
    dice = drawing.roles
    if "roles" not in drawing.has or dice.random() < 0.2:
        return
    names = dice.sample(("m", "w", "x"), dice.choice((1, 2, 2, 2, 3)))
    gang.roles = tuple(dice.choice(names) for _ in range(gang.members))
    minima = dict.fromkeys(names, 0)
    for role in dice.sample(gang.roles, gang.minimum):
        minima[role] += 1
    gang.annotations[ROLES] = json.dumps(minima)


def _bound(drawing: Drawing, gang: Gang) -> frozenset[int]:
    """Return which members have a node; of a gang that has lost some, too few."""
    dice, every = drawing.dice, range(gang.members)
    if gang.state == "waits":
        return frozenset()
    if gang.state == "runs":
        number = dice.choice((gang.members, gang.minimum, dice.randint(gang.minimum, gang.members)))
    else:
        number = dice.randint(1, max(1, gang.minimum - 1))
    return frozenset(dice.sample(every, number))


def _join(drawing: Drawing, gangs: Sequence[Gang]) -> None:
    """Make one or two groups of gangs; natives cannot say it, and can be named."""
    dice = drawing.dice
    left = dice.sample([*gangs], len(gangs))
    while len(left) > 1:
        some, left = left[: dice.randint(2, 3)], left[3:]
        speakers = [each for each in some if each.source != "native"]
        for each in speakers[: dice.randint(1, 3)]:
            others = [other for other in some if other is not each]
            names = [f"{other.namespace}/{other.name}" for other in others]
            if drawing.chance(0.03):
                names.append(f"{each.namespace}/nothing")
            each.annotations[KOORDINATOR + "groups"] = json.dumps(names)
        if drawing.chance(0.7):
            for each in some:
                each.priority = some[0].priority
        if drawing.chance(0.8):
            _ask_together(drawing, some)


def _ask_together(drawing: Drawing, some: Sequence[Gang]) -> None:
    """Let one gang of a group ask for all of it: two that ask are right only if they ask alike."""
    asking = next((gang for gang in some if gang.request.spec or gang.request.native), None)
    for each in some:
        if asking is not None and each is not asking:
            repeats = asking.request.spec and drawing.chance(0.2)
            each.request = asking.request if repeats else Request()


def _describe(drawing: Drawing, gang: Gang) -> None:
    """Add the object that describes the gang, and what it says."""
    dice = drawing.dice
    if gang.request.spec:
        gang.annotations[KOORDINATOR + "network-topology-spec"] = gang.request.spec
    if drawing.sometimes("policies", 0.5):
        gang.annotations[KOORDINATOR + "match-policy"] = dice.choice(POLICIES)
    if drawing.sometimes("policies", 0.3):
        gang.annotations[KOORDINATOR + "mode"] = "NonStrict"
    if drawing.sometimes("totals", 0.6):
        total = gang.members + dice.choice((0, 1))
        gang.annotations[KOORDINATOR + "total-number"] = str(total)
    if drawing.sometimes("resources asked", 0.5):
        gang.spec["minResources"] = {"cpu": str(dice.randint(1, 12))}
    if gang.source == "native":
        _add_native(drawing, gang)
    elif gang.source == "PodGroup":
        _add_pod_group(drawing, gang)


def _add_pod_group(drawing: Drawing, gang: Gang) -> None:
    status: Manifest = {}
    if gang.state == "lost some" or (gang.state == "runs" and drawing.chance(0.7)):
        status = {"conditions": [{"type": "Scheduled", "status": "True", "reason": "Scheduled"}]}
    body = manifests.pod_group(
        *(gang.name, gang.minimum),
        foreign=drawing.chance(0.05),
        namespace=gang.namespace,
        created=drawing.moment(),
        annotations=gang.annotations,
        spec=gang.spec,
        status=status,
    )
    if not drawing.chance(0.02):
        drawing.add(body)


def _add_native(drawing: Drawing, gang: Gang) -> None:
    spec: dict[str, Any] = {}
    if drawing.chance(0.5):
        spec["priority"] = gang.priority
    if drawing.chance(0.5):
        spec["disruptionMode"] = {drawing.dice.choice(("all", "single")): {}}
    if gang.request.native:
        spec["schedulingConstraints"] = {"topology": [{"key": gang.request.native}]}
    scheduled = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
    basic = drawing.chance(0.1) and not gang.roles
    body = manifests.native_pod_group(
        *(gang.name, 0 if basic else gang.minimum),
        namespace=gang.namespace,
        annotations={ROLES: gang.annotations[ROLES]} if gang.roles else {},
        created=drawing.moment(),
        spec=spec,
        status={"conditions": [scheduled]} if gang.state == "lost some" else {},
    )
    drawing.add(body)


def _member(drawing: Drawing, gang: Gang, index: int) -> None:
    asked = gang.asks[0] if index == 0 or len(gang.asks) == 1 else gang.asks[1]
    spec = {**_spec(drawing, gang.priority), **gang.rule}
    if drawing.sometimes("pod affinity", 0.07):
        spec |= _pod_affinity(drawing, gang.name)
    # A native PodGroup has one priority with its members.
    if gang.source != "native" and drawing.sometimes("mixed priorities", 0.3):
        spec["priority"] = drawing.priority(runs=gang.state == "runs")
    labels = {"member-of": gang.name, **({ROLE: gang.roles[index]} if gang.roles else {})}
    status: Manifest = {}
    if index in gang.bound:
        node = drawing.put_on(_where(drawing, gang), asked)
        if node:
            spec["nodeName"] = node
            labels |= bound_pods.labels_of_one_that_runs(drawing)
            status = bound_pods.status_of_one_that_runs(drawing)
    elif drawing.sometimes("nominated", 0.3):
        status["nominatedNodeName"] = drawing.dice.choice([*drawing.nodes])
    if "nodeName" not in spec and drawing.sometimes("gated", 0.3):
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    body = manifests.pod(
        *(f"{gang.name}-{index}", asked),
        namespace=gang.namespace,
        created=drawing.moment(),
        labels=labels,
        annotations=gang.request.annotations(index),
        spec=spec,
        status=status,
        ports=[9000] if drawing.sometimes("ports", 0.6) else (),
    )
    _name_the_gang(drawing, gang, body)
    if "nodeName" in spec:
        bound_pods.leave(drawing, body)
    drawing.add(body)


def _where(drawing: Drawing, gang: Gang) -> list[str]:
    """Return the nodes for members that run: mostly of one domain, where they gather in one."""
    nodes = [*drawing.nodes]
    if not gang.request.key or drawing.chance(0.1):
        return nodes
    taken = [
        each["spec"]["nodeName"]
        for each in drawing.documents
        if each["metadata"].get("labels", {}).get("member-of") == gang.name
        and each["spec"].get("nodeName")
    ]
    if not taken:
        return nodes
    keys = [key for _, key in drawing.layers]
    keys = keys[: keys.index(gang.request.key) + 1] if gang.request.key in keys else []
    home = [drawing.nodes[taken[0]].get(key) for key in keys]
    return [n for n in nodes if [drawing.nodes[n].get(key) for key in keys] == home]


def _name_the_gang(drawing: Drawing, gang: Gang, body: Manifest) -> None:
    """Write into a pod what gang it is of."""
    metadata = body["metadata"]
    if gang.source == "native":
        body["spec"]["schedulingGroup"] = {"podGroupName": gang.name}
    elif gang.source == "annotation":
        named = {KOORDINATOR + "name": gang.name, KOORDINATOR + "min-available": str(gang.minimum)}
        metadata["annotations"] = {**metadata.get("annotations", {}), **gang.annotations, **named}
    else:
        key = manifests.OTHER_LABEL if drawing.chance(0.03) else manifests.POD_GROUP_LABEL
        metadata["labels"] = {**metadata.get("labels", {}), key: gang.name}


def _spec(drawing: Drawing, priority: int) -> dict[str, Any]:
    """Return the spec of a pod that waits, or may."""
    dice = drawing.dice
    spec: dict[str, Any] = {"priority": priority}
    if drawing.sometimes("never", 0.4):
        spec["preemptionPolicy"] = "Never"
    if drawing.sometimes("odd nodes", 0.3):
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if drawing.sometimes("odd nodes", 0.2):
        spec["nodeSelector"] = {"kubernetes.io/hostname": dice.choice([*drawing.nodes])}
    return spec


def _pod_affinity(drawing: Drawing, name: str) -> dict[str, Any]:
    """Return one rule on what other pods there are."""
    dice = drawing.dice
    key = dice.choice(("kubernetes.io/hostname", "zone"))
    own = {"matchLabels": {"member-of": name}}
    kind = dice.choice(("podAntiAffinity", "podAffinity", "spread"))
    if kind == "spread":
        rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
        return {"topologySpreadConstraints": [{**rule, "labelSelector": own}]}
    selector = own if kind == "podAntiAffinity" else {"matchLabels": {"app": "x"}}
    term = {"labelSelector": selector, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
