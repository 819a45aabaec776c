"""The nodes of random worlds, and the network that they are in."""

from typing import Any

from search import manifests
from search.drawing import NOW, Drawing
from search.manifests import GPU

LAYERS = (("S", "spine"), ("B", "block"), ("R", "rack"))


def draw(drawing: Drawing) -> None:
    """Draw the network and the nodes."""
    dice = drawing.dice
    number = dice.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))
    if "network" in drawing.has:
        drawing.layers = LAYERS[: dice.choice((1, 1, 2, 2, 3))]
        keys = [key for _, key in drawing.layers]
        if "kueue" in drawing.has and dice.random() < 0.5:
            drawing.add(manifests.kueue_topology("racks", keys))
        elif "kueue" not in drawing.has or dice.random() < 0.7:
            drawing.add(manifests.network(drawing.layers))
    size = dice.choice((2, 4, 4, 8))
    for index in range(number):
        _node(drawing, f"n{index}", size)


def _node(drawing: Drawing, name: str, size: int) -> None:
    dice = drawing.dice
    labels = _labels(drawing)
    offered = {
        "cpu": size if dice.random() < 0.7 else dice.randint(1, 8),
        "pods": dice.randint(1, 4) if drawing.sometimes("few places", 0.6) else 110,
    }
    if "gpus" in drawing.has:
        offered[GPU] = dice.choice((0, 2, 2, 4))
    spec: dict[str, Any] = {}
    if drawing.sometimes("odd nodes", 0.15):
        spec["unschedulable"] = True
    if drawing.sometimes("odd nodes", 0.2):
        spec["taints"] = [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]
    ready = not drawing.sometimes("odd nodes", 0.1)
    created = NOW if name == "n0" else 0
    drawing.add(manifests.node(name, offered, labels, spec=spec, ready=ready, created=created))
    drawing.nodes[name], drawing.room[name] = labels, dict(offered)


def _labels(drawing: Drawing) -> dict[str, str]:
    dice = drawing.dice
    labels = {key: f"{key[0]}{dice.randint(1, 2)}" for _, key in drawing.layers}
    if drawing.sometimes("holes", 0.35) and labels:
        for key in dice.sample(sorted(labels), dice.randint(1, len(labels))):
            del labels[key]
    if "pod affinity" in drawing.has:
        labels["zone"] = dice.choice("ab")
    return labels
