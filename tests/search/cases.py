"""A world with the answers of the product, and with what follows from both."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from gang_scheduler.simulation.objects import Objects
from search import answers, facts, groups, network
from search.answers import Answer
from search.drawing import NOW
from search.facts import Gang, Pod
from search.groups import Group
from search.manifests import BEGAN_AT, Manifest
from search.network import Tree
from search.room import Room
from search.worlds import World

PATIENCE = 30


@dataclass(eq=False)
class Case:
    """One world. What is asked of the product is asked once, when a law looks at it."""

    world: World

    @cached_property
    def _loaded(self) -> Objects:
        return answers.read(self.world.documents)

    @cached_property
    def once(self) -> Answer:
        """What one cycle decides."""
        return answers.ask(self._loaded)

    @cached_property
    def settled(self) -> Answer:
        """What comes of it in the end."""
        return answers.ask(self._loaded, settled=True)

    @cached_property
    def nodes(self) -> dict[str, Manifest]:
        """The nodes by name."""
        return {body["metadata"]["name"]: body for body in self.world.of("Node")}

    @cached_property
    def pods(self) -> dict[str, Pod]:
        """All pods by key."""
        return {pod.key: pod for pod in facts.pods(self.world.documents)}

    @cached_property
    def gangs(self) -> dict[str, Gang]:
        """All gangs by name, single pods among them."""
        return facts.gangs(self.world.documents, [*self.pods.values()])

    @cached_property
    def groups(self) -> list[Group]:
        """The groups in which members wait, in the order of decision."""
        return groups.groups(self.gangs)

    @cached_property
    def trees(self) -> list[Tree]:
        """The trees in force."""
        return network.trees(self.world.documents)

    @cached_property
    def running(self) -> list[Pod]:
        """The pods that use room, those on their way out among them."""
        return [pod for pod in self.pods.values() if pod.node and not pod.terminal]

    @cached_property
    def waiting(self) -> list[Pod]:
        """The pods of ours that are to be decided."""
        return [p for p in self.pods.values() if p.ours and p.living and not p.node]

    def group_of(self, name: str) -> Group | None:
        """Return the group of a gang with members that wait."""
        return next((g for g in self.groups if any(e.name == name for e in g.gangs)), None)

    def loses_members(self, group: Group) -> bool:
        """Return whether members of a group are evicted now, so that it lacks more than it did."""
        victims = self.once.cycles[0].victims
        return any(pod.key in victims for gang in group.gangs for pod in gang.bound)

    def leaves(self, pod: Pod) -> bool:
        """Tell a pod that will soon be gone from one that hangs."""
        return pod.deleting and pod.ends - BEGAN_AT >= NOW - PATIENCE

    @cached_property
    def has_mixed_gangs(self) -> bool:
        """Some gang has members of several priorities: its own changes when it loses some."""
        return any(
            len({pod.priority for pod in gang.members} | {gang.priority}) > 1
            for gang in self.gangs.values()
        )

    @cached_property
    def is_clear(self) -> bool:
        """No pod is so late that the clock of the product decides whether it hangs."""
        ends = (pod.ends - BEGAN_AT - NOW for pod in self.running if pod.deleting)
        return not any(-PATIENCE <= late <= 1_000 for late in ends)

    def room(
        self,
        decided: Iterable[tuple[str, str]] = (),
        gone: Iterable[str] = (),
        *,
        later: bool = False,
    ) -> Room:
        """Return what is left beside decided pods; `later`: once those that leave have left."""
        away = set(gone)
        staying = [
            (pod, pod.node)
            for pod in self.running
            if pod.key not in away and not (later and self.leaves(pod))
        ]
        return Room(self.nodes, [*staying, *((self.pods[key], node) for key, node in decided)])
