"""Which nodes: selectors, node affinity, names, taints, cordons and readiness."""

from typing import Any

from differential.worlds import (
    DISK,
    GENERATION,
    HOSTNAME,
    RACK,
    ZONE,
    Drawn,
    Feature,
    Manifest,
    World,
    modest,
    plain,
    ready,
    taint,
)

TAINTED = ("example.com/reserved", "example.com/cores", "example.com/old")
NOT_READY = "node.kubernetes.io/not-ready"
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
VALUES = {
    ZONE: ("z0", "z1", "z2", "z9"),
    RACK: ("r0", "r1", "r2"),
    DISK: ("ssd", "hdd", ""),
    GENERATION: ("1", "2", "10", "new"),
}


def _select(world: World, pod: Drawn) -> None:
    keys = world.dice.sample(sorted(VALUES), world.dice.randint(1, 2))
    pod.spec["nodeSelector"] = {key: world.dice.choice(VALUES[key]) for key in keys}


def _require(world: World, pod: Drawn) -> None:
    number = world.dice.randint(1, 3)
    add_terms(pod, [_term(world) for _ in range(number)])


def _by_name(world: World, pod: Drawn) -> None:
    number = world.dice.randint(1, 3)
    add_terms(pod, [_named(world) for _ in range(number)])


def add_terms(pod: Drawn, terms: list[Manifest]) -> None:
    """Add alternatives to the required node affinity."""
    affinity = pod.spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    required.setdefault("nodeSelectorTerms", []).extend(terms)


def _term(world: World) -> Manifest:
    if world.chance(0.05):
        return {}
    return {"matchExpressions": [_expression(world) for _ in range(world.dice.randint(1, 2))]}


def _expression(world: World) -> Manifest:
    key = world.dice.choice(sorted(VALUES))
    operator = world.dice.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Gt", "Lt"):
        bound = world.dice.choice(
            ["0", "1", "7", "10", "9223372036854775806", "99999999999999999999"]
        )
        return {"key": GENERATION, "operator": operator, "values": [bound]}
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = world.dice.sample(VALUES[key], world.dice.randint(1, 2))
    return {"key": key, "operator": operator, "values": values}


def _named(world: World) -> Manifest:
    fields: list[dict[str, Any]] = [
        {
            "key": "metadata.name",
            "operator": world.dice.choice(["In", "In", "NotIn"]),
            "values": [world.dice.choice([*world.node_names, "nowhere"])],
        }
        for _ in range(world.dice.choice([1, 1, 2]))
    ]
    term: Manifest = {"matchFields": fields}
    if world.chance(0.3):
        term["matchExpressions"] = [_expression(world)]
    return term


def _taint(world: World) -> None:
    for node in world.some(world.nodes, 0.6):
        for key in world.dice.sample(TAINTED, world.dice.randint(1, 2)):
            value = world.dice.choice(["team-a", "8", "64", ""])
            taint(node, key, world.dice.choice(EFFECTS), value)


def _tolerate(world: World, pod: Drawn) -> None:
    number = world.dice.randint(0, 3)
    found = pod.spec.setdefault("tolerations", [])
    found.extend(_toleration(world) for _ in range(number))


def _toleration(world: World) -> Manifest:
    effect = world.dice.choice(["", *EFFECTS])
    made: Manifest = {"effect": effect} if effect else {}
    if world.chance(0.1):
        return {**made, "operator": "Exists"}
    made["key"] = world.dice.choice(TAINTED)
    if world.chance(0.35):
        return {**made, "operator": "Exists"}
    operator = {} if world.chance(0.3) else {"operator": "Equal"}
    return {**made, **operator, "value": world.dice.choice(["team-a", "8", "64", ""])}


def _compare(world: World, pod: Drawn) -> None:
    effect = world.dice.choice(["", "NoSchedule", "NoExecute"])
    toleration = {
        "key": "example.com/cores",
        "operator": world.dice.choice(["Lt", "Gt"]),
        "value": world.dice.choice(["0", "7", "8", "10", "-1", "100"]),
        **({"effect": effect} if effect else {}),
    }
    pod.spec.setdefault("tolerations", []).append(toleration)


def _numbers(world: World) -> None:
    for node in world.some(world.nodes, 0.7):
        value = world.dice.choice(["8", "64", "007", "0", "many", "", "99999999999999999999"])
        taint(node, "example.com/cores", world.dice.choice(EFFECTS[:2]), value)


def _cordon(world: World) -> None:
    for node in world.some(world.nodes, 0.4):
        node["spec"]["unschedulable"] = True


def _tolerate_cordon(world: World, pod: Drawn) -> None:
    if world.chance(0.5):
        toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        effect = world.dice.choice(["", "NoSchedule", "NoExecute"])
        toleration.update({"effect": effect} if effect else {})
        pod.spec.setdefault("tolerations", []).append(toleration)


def _sicken(world: World) -> None:
    for node in world.some(world.nodes, 0.3):
        node["status"]["conditions"] = [ready(world.dice.choice(["False", "Unknown"]))]
        if world.chance(0.6):
            taint(node, NOT_READY, world.dice.choice(["NoSchedule", "NoExecute"]))


def _tolerate_sickness(world: World, pod: Drawn) -> None:
    if world.chance(0.4):
        toleration = {"key": NOT_READY, "operator": "Exists"}
        pod.spec.setdefault("tolerations", []).append(toleration)


def _hide_labels(world: World) -> None:
    for node in world.some(world.nodes, 0.2):
        for key in (HOSTNAME, ZONE, RACK):
            node["metadata"]["labels"].pop(key, None)


def _declare(world: World) -> None:
    for node in world.some(world.nodes, 0.5):
        node["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]


def _restart_all(world: World, pod: Drawn) -> None:
    codes = {"operator": "In", "values": [42]}
    action = world.dice.choice(["RestartAllContainers", "RestartAllContainers", "Restart"])
    rule = {"action": action, "exitCodes": codes}
    pod.container.update({"restartPolicy": "Never", "restartPolicyRules": [rule]})


FEATURES = (
    Feature("node-selector", plain, _select),
    Feature("node-affinity", plain, _require),
    Feature("match-fields", plain, _by_name),
    Feature("taints", _taint, _tolerate),
    Feature("numeric-tolerations", _numbers, _compare),
    Feature("cordon", _cordon, _tolerate_cordon),
    Feature("not-ready", _sicken, _tolerate_sickness),
    Feature("declared-features", _declare, _restart_all),
    Feature("no-labels", _hide_labels, modest),
)
