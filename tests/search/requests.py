"""What the gangs of random worlds ask of the network, in the words of each product."""

from dataclasses import dataclass, field

from search import manifests
from search.drawing import Drawing
from search.manifests import KOORDINATOR, KUEUE


@dataclass(frozen=True)
class Request:
    """What one gang asks. `key` is the label of the layer that members gather in, if they must.

    `spec` is a network-topology-spec and `native` the key in a native PodGroup. `first` and
    `others` are annotations of the first member and of the others; `ranks` tells that members
    have an index.
    """

    key: str = ""
    spec: str = ""
    native: str = ""
    first: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    ranks: bool = False

    def annotations(self, index: int) -> dict[str, str]:
        """Return what a member asks itself."""
        own = {KOORDINATOR + "network-topology-index": str(index)} if self.ranks else {}
        return {**(self.others if index else self.first), **own}


def draw_request(drawing: Drawing, source: str) -> Request:
    """Return what a gang asks of the network that there is; mostly nothing where there is none."""
    dice = drawing.dice
    if not drawing.layers or dice.random() < 0.35:
        return Request()
    if source == "native":
        key = dice.choice(drawing.layers)[1]
        return Request(key=key, native=key) if dice.random() < 0.6 else Request()
    if "podsets" in drawing.has and dice.random() < 0.6:
        return _podsets(drawing)
    return _spec(drawing)


def _spec(drawing: Drawing) -> Request:
    dice = drawing.dice
    depths = range(len(drawing.layers))
    must = dice.choice((-1, -1, *depths, *depths))
    names = [name for name, _ in drawing.layers]
    below = (*names[must + 1 :], manifests.NODE_LAYER)
    prefer = [layer for layer in below if dice.random() < 0.3]
    if must < 0 and not prefer:
        prefer = [dice.choice(below)]
    multiples = {}
    if drawing.sometimes("slices", 0.3):
        multiples = {dice.choice([*names[max(must, 0) : must + 1], *prefer]): 2}
    spec = manifests.gather_spec(names[must] if must >= 0 else "", prefer, multiples)
    key = drawing.layers[must][1] if must >= 0 else ""
    return Request(key=key, spec=spec, ranks=dice.random() < 0.3)


def _podsets(drawing: Drawing) -> Request:
    dice = drawing.dice
    keys = [key for _, key in drawing.layers]
    key = dice.choice(keys)
    way = dice.choice(("required", "required", "preferred", "unconstrained"))
    if drawing.sometimes("slices", 0.6):
        below = [*keys[keys.index(key) :], "kubernetes.io/hostname"]
        sliced = {
            KUEUE + "slice-required-topology": dice.choice(below),
            KUEUE + "slice-size": str(dice.randint(1, 4)),
        }
        if dice.random() < 0.5:
            return Request(first=sliced, others=sliced, ranks=dice.random() < 0.7)
        others = {KUEUE + "required-topology": key, **sliced}
        return Request(key=key, first=others, others=others, ranks=dice.random() < 0.7)
    others = {KUEUE + f"{way}-topology": "true" if way == "unconstrained" else key}
    must = key if way == "required" else ""
    shape = dice.randint(0, 3)
    if shape == 0:
        return Request(others=others, ranks=dice.random() < 0.3)
    if shape == 1 and way != "unconstrained":
        named = {**others, KUEUE + "group-name": "together"}
        return Request(key=must, first={**named}, others=named)
    return Request(key=must, first=others, others=others)
