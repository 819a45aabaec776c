"""What a random world has, and how it is drawn.

A world has a few features, drawn first, so that each of them is often met by itself and at times
beside any other. Amounts are small whole numbers, since that is where packings just fit or just do
not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from search.manifests import GPU, Manifest

NOW = 1_000
"""About when everything is looked at, in seconds since the clusters were made."""
FEATURES: dict[str, float] = {
    "gpus": 0.25,
    "few places": 0.2,
    "holes": 0.25,
    "odd nodes": 0.2,
    "kueue": 0.25,
    "groups": 0.4,
    "elastic": 0.6,
    "classes": 0.35,
    "started": 0.6,
    "network": 0.6,
    "podsets": 0.25,
    "slices": 0.2,
    "native": 0.25,
    "annotations": 0.2,
    "priorities": 0.75,
    "full": 0.65,
    "budgets": 0.25,
    "protected": 0.2,
    "leaving": 0.25,
    "marked": 0.12,
    "nominated": 0.1,
    "never": 0.12,
    "others": 0.15,
    "ports": 0.1,
    "pod affinity": 0.15,
    "policies": 0.2,
    "totals": 0.08,
    "gated": 0.08,
    "resources asked": 0.06,
    "namespaces": 0.15,
    "mixed priorities": 0.06,
    "huge": 0.1,
}
"""How often a world has each."""
THEMES: tuple[tuple[str, ...], ...] = (
    ("groups", "network", "holes", "elastic"),
    ("groups", "network", "holes", "elastic", "huge"),
    ("groups", "network", "elastic", "started", "huge"),
    ("groups", "network", "classes", "started"),
    ("groups", "full", "priorities"),
    ("network", "podsets", "slices", "started"),
    ("network", "podsets", "classes", "elastic", "started"),
    ("network", "full", "priorities", "started"),
    ("classes", "elastic", "full"),
    ("elastic", "started", "full", "priorities"),
    ("native", "full", "priorities", "started"),
    ("pod affinity", "full", "priorities"),
    ("budgets", "protected", "full", "priorities"),
    ("leaving", "full", "priorities", "ports"),
)
"""What half of the worlds are about; they have little else."""
BESIDE = 0.35
"""How much less often a world with a theme has what is not of it."""


def features(dice: Random) -> set[str]:
    """Return what a world has."""
    theme = dice.choice(THEMES) if dice.random() < 0.5 else ()
    rarer = BESIDE if theme else 1.0
    return {name for name, often in FEATURES.items() if dice.random() < often * rarer} | {*theme}


PRIORITIES = {True: (0, 0, 0, 5, 5, 10, 20), False: (0, 5, 10, 10, 20, 20)}
"""Those of pods that run, and of those that wait."""


@dataclass
class Drawing:
    """A world while it is being drawn. `room` is what is left of each node.

    `roles` are the dice for the roles of gangs alone.
    """

    dice: Random
    has: frozenset[str]
    layers: tuple[tuple[str, str], ...] = ()
    documents: list[Manifest] = field(default_factory=list)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    room: dict[str, dict[str, int]] = field(default_factory=dict)
    created: int = 0
    roles: Random = field(default_factory=Random)

    def chance(self, probability: float) -> bool:
        """Return whether something rare happens."""
        return self.dice.random() < probability

    def sometimes(self, feature: str, probability: float) -> bool:
        """Return whether it happens in a world with this feature; never in another one."""
        return feature in self.has and self.chance(probability)

    def moment(self) -> int:
        """Return a time of creation; mostly later than all before."""
        self.created += self.dice.choice((0, 1, 1, 7))
        return self.created

    def priority(self, *, runs: bool) -> int:
        """Return a priority: higher ones mostly wait."""
        return self.dice.choice(PRIORITIES[runs]) if "priorities" in self.has else 0

    def namespace(self) -> str:
        """Return a namespace."""
        return "team-b" if self.sometimes("namespaces", 0.4) else "default"

    def ask(self) -> dict[str, int]:
        """Return what the container of a pod asks for."""
        asked = {"cpu": self.dice.choice((1, 1, 1, 2, 2, 3, 4))}
        if self.sometimes("huge", 0.3):
            asked["cpu"] = self.dice.randint(5, 9)
        if self.sometimes("gpus", 0.6):
            asked[GPU] = self.dice.randint(1, 2)
            asked["cpu"] = 1
        return asked

    def put_on(self, names: Sequence[str], asked: dict[str, int]) -> str:
        """Take room for a pod on one of these nodes, and return which; "" if none has any."""
        fitting = [n for n in names if self._holds(n, asked)]
        if not fitting:
            return ""
        chosen = self.dice.choice(fitting)
        for key, amount in {**asked, "pods": 1}.items():
            self.room[chosen][key] = self.room[chosen].get(key, 0) - amount
        return chosen

    def add(self, body: Manifest) -> None:
        """Add an object."""
        self.documents.append(body)

    def _holds(self, name: str, asked: dict[str, int]) -> bool:
        left = self.room[name]
        return all(left.get(key, 0) >= amount for key, amount in {**asked, "pods": 1}.items())
