"""Which gangs hold the room of a node: those that run, and those that come before."""

from collections import Counter
from collections.abc import Iterable

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.explanation.findings import Holder
from gang_scheduler.scheduler.explanation.watching import Turn


class Holders:
    """What gangs have of nodes. The pods of nodes are looked up once, all others never."""

    def __init__(self, running: BoundPods, turn: Turn) -> None:
        self._running = running
        self._turn = turn

    def of(self, nodes: Iterable[str], resource: str) -> dict[str, tuple[Holder, ...]]:
        """Return the gangs with some of a resource of each node, those with the most first."""
        wanted = set(nodes)
        on_nodes: dict[str, list[BoundPod]] = {name: [] for name in wanted}
        for each in (*self._running.pods, *self._running.leaving):
            if each.pod.node in wanted:
                on_nodes[each.pod.node].append(each)
        taken = self._taken(wanted, resource)
        return {name: _holders(some, resource, taken[name]) for name, some in on_nodes.items()}

    def _taken(self, wanted: set[str], resource: str) -> Counter[str]:
        """Return what gangs take that had their turn before, by node."""
        taken: Counter[str] = Counter()
        for bind in self._binds():
            if bind.node in wanted:
                taken[bind.node] += _amount(bind.pod, resource)
        return taken

    def _binds(self) -> Iterable[Bind]:
        yield from (bind for each in self._turn.placements.values() for bind in each.binds)
        yield from (bind for each in self._turn.preemptions for bind in each.nominations)


def _holders(pods: Iterable[BoundPod], resource: str, taken: int) -> tuple[Holder, ...]:
    amounts: Counter[GangKey] = Counter()
    numbers: Counter[GangKey] = Counter()
    for each in pods:
        amount = _amount(each.pod, resource)
        amounts[each.gang] += amount
        numbers[each.gang] += bool(amount)
    ranked = sorted(amounts.items(), key=lambda item: (-item[1], item[0]))
    found = [Holder(gang, amount, numbers[gang]) for gang, amount in ranked if amount]
    return (*found, Holder(None, taken)) if taken else tuple(found)


def _amount(pod: Pod, resource: str) -> int:
    return dict(pod.pod_class.requests).get(resource, 0)
