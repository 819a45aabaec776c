"""Other pods: affinity, anti-affinity and topology spread."""

from differential.worlds import (
    HOSTNAME,
    NAMESPACES,
    RACK,
    ZONE,
    Drawn,
    Feature,
    Manifest,
    World,
    plain,
    taint,
)

KEYS = (ZONE, ZONE, RACK, HOSTNAME, "example.com/nobody-has-this")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _selector(world: World) -> Manifest:
    if world.chance(0.08):
        return {}
    made: Manifest = {}
    if world.chance(0.7):
        made["matchLabels"] = {"app": world.dice.choice("abc")}
    if not made or world.chance(0.25):
        made["matchExpressions"] = [_expression(world)]
    return made


def _expression(world: World) -> Manifest:
    operator = world.dice.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    if operator in ("In", "NotIn"):
        values = world.dice.sample(["front", "back", "side"], world.dice.randint(1, 2))
        return {"key": "tier", "operator": operator, "values": values}
    return {"key": world.dice.choice(["tier", "version"]), "operator": operator}


def _term(world: World) -> Manifest:
    term: Manifest = {"topologyKey": world.dice.choice(KEYS)}
    if world.chance(0.95):
        term["labelSelector"] = _selector(world)
    if world.chance(0.3):
        term["namespaces"] = world.dice.sample(NAMESPACES, world.dice.randint(1, 2))
    if world.chance(0.3):
        term["namespaceSelector"] = world.dice.choice(
            [{}, {"matchLabels": {"team": "one"}}, {"matchLabels": {"team": "two", "stage": "p"}}]
        )
    return term


def _keys(world: World, term: Manifest) -> None:
    """Add matchLabelKeys or mismatchLabelKeys of a label that the selector does not use."""
    term["labelSelector"] = {"matchLabels": {"app": world.dice.choice("abc")}}
    kind = world.dice.choice(["matchLabelKeys", "mismatchLabelKeys"])
    term[kind] = world.dice.sample(["version", "tier"], world.dice.randint(1, 2))


def _affine(world: World, pod: Drawn) -> None:
    for _ in range(world.dice.choice([1, 1, 2])):
        _add(pod, "podAffinity", _term(world))


def _avoid(world: World, pod: Drawn) -> None:
    for _ in range(world.dice.choice([1, 1, 2])):
        _add(pod, "podAntiAffinity", _term(world))


def _first(world: World, pod: Drawn) -> None:
    """Ask for one's own like, of which there may be none yet."""
    own = world.name(world.dice.choice(["family-a", "family-b"]))
    pod.manifest["metadata"]["labels"]["family"] = own
    for _ in range(world.dice.choice([1, 1, 2])):
        key = world.dice.choice(KEYS)
        _add(
            pod,
            "podAffinity",
            {"topologyKey": key, "labelSelector": {"matchLabels": {"family": own}}},
        )


def _by_keys(world: World, pod: Drawn) -> None:
    term = _term(world)
    _keys(world, term)
    _add(pod, world.dice.choice(["podAffinity", "podAntiAffinity"]), term)


def _add(pod: Drawn, kind: str, term: Manifest) -> None:
    affinity = pod.spec.setdefault("affinity", {}).setdefault(kind, {})
    affinity.setdefault(REQUIRED, []).append(term)


def _prefer(world: World, pod: Drawn) -> None:
    kind = world.dice.choice(["podAffinity", "podAntiAffinity"])
    affinity = pod.spec.setdefault("affinity", {}).setdefault(kind, {})
    preferred = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
    preferred.append({"weight": 50, "podAffinityTerm": _term(world)})


def _spread(world: World, pod: Drawn) -> None:
    _constrain(world, pod, {})


def _spread_minimum(world: World, pod: Drawn) -> None:
    _constrain(world, pod, {"minDomains": world.dice.randint(1, 5)})


def _spread_policies(world: World, pod: Drawn) -> None:
    policies = ("nodeAffinityPolicy", "nodeTaintsPolicy")
    chosen = {each: world.dice.choice(["Honor", "Ignore"]) for each in policies}
    _constrain(world, pod, {each: chosen[each] for each in policies if world.chance(0.8)})
    if world.chance(0.6):
        pod.spec["nodeSelector"] = {"example.com/disk": world.dice.choice(["ssd", "hdd"])}
    if world.chance(0.3):
        toleration = {"key": "example.com/reserved", "operator": "Exists"}
        pod.spec.setdefault("tolerations", []).append(toleration)


def _some_taints(world: World) -> None:
    for node in world.some(world.nodes, 0.3):
        effect = world.dice.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
        taint(node, "example.com/reserved", effect)


def _spread_by_keys(world: World, pod: Drawn) -> None:
    keys = world.dice.sample(["version", "tier"], world.dice.randint(1, 2))
    selector = {"matchLabels": {"app": world.dice.choice("abc")}}
    _constrain(world, pod, {"labelSelector": selector, "matchLabelKeys": keys})


def _constrain(world: World, pod: Drawn, rest: Manifest) -> None:
    found = pod.spec.setdefault("topologySpreadConstraints", [])
    taken = {each["topologyKey"] for each in found}
    keys = [key for key in dict.fromkeys(KEYS) if key not in taken]
    for key in world.dice.sample(keys, min(len(keys), world.dice.choice([1, 1, 1, 2]))):
        # Keys that no node has let no node pass: rarely.
        if key == KEYS[-1] and world.chance(0.8):
            continue
        found.append(
            {
                "topologyKey": key,
                "maxSkew": world.dice.randint(1, 3),
                "whenUnsatisfiable": "DoNotSchedule",
                **({"labelSelector": _selector(world)} if world.chance(0.95) else {}),
                **rest,
            }
        )
    if not found:
        del pod.spec["topologySpreadConstraints"]


def _spread_softly(world: World, pod: Drawn) -> None:
    found = pod.spec.setdefault("topologySpreadConstraints", [])
    if any(each["topologyKey"] == RACK for each in found):
        return
    soft = {"topologyKey": RACK, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    found.append({**soft, "labelSelector": _selector(world)})


FEATURES = (
    Feature("affinity", plain, _affine),
    Feature("anti-affinity", plain, _avoid),
    Feature("first-pod", plain, _first),
    Feature("affinity-label-keys", plain, _by_keys),
    Feature("preferred-affinity", plain, _prefer),
    Feature("spread", plain, _spread),
    Feature("spread-min-domains", plain, _spread_minimum),
    Feature("spread-policies", _some_taints, _spread_policies),
    Feature("spread-label-keys", plain, _spread_by_keys),
    Feature("spread-anyway", plain, _spread_softly),
)
