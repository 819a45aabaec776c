"""Gangs that must gather in a rack, while nodes move between racks and operators are killed."""

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.support import gang_manifests, networks, operator_health
from e2e.support.fault_proxy import HOLD, PASS, FaultProxy
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.networks import RACK, RACKS, Network
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import access, repeated_calls

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

SEED = 5
GANGS = 50
SIZES = (3, 4, 5)
CROWD_RACKS, CROWD_NODES = 20, 160
MOVES_AT_ONCE = 40
BINDING_SECONDS = 60.0
TIGHT_GANGS, TIGHT_SIZE = 20, 4
KILLED_AFTER = (9, 30, 53)
"""Pods that are bound then: never whole gangs only."""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without nodes and operator."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture
def network(plane: controlplane.ControlPlane) -> Iterator[Network]:
    with Network(plane) as made:
        yield made


@pytest.fixture
def proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane.access, plane.directory / "kubeconfig-proxy") as started:
        yield started


@pytest.fixture
def scheduler(
    plane: controlplane.ControlPlane, proxy: FaultProxy
) -> Iterator[controlplane.Scheduler]:
    """Give an operator behind the proxy, not started yet. Its tasks must never fail."""
    made = controlplane.Scheduler(plane, kubeconfig=proxy.kubeconfig)
    yield made
    if made.name in plane.processes.running():
        made.stop()
    assert [] == operator_health.tracebacks(made)


@dataclass(frozen=True)
class Move:
    """A node that has another rack since a version."""

    version: int
    node: str
    rack: str


@dataclass
class Mover:
    """Moves nodes between racks, and notes what the operator knows of it.

    It moves some, waits until the operator's status of the topology shows all of these, and goes
    on. So whatever was created after that status was decided with these moves or later ones.
    """

    network: Network
    before: Mapping[str, str]
    moves: list[Move] = field(default_factory=list)
    known: list[tuple[int, int]] = field(default_factory=list)
    """(version, number of moves that the operator knew at that version)."""

    def __post_init__(self) -> None:
        self._racks = dict(self.before)
        self._random = random.Random(SEED)  # noqa: S311 - the same moves every time.

    @contextlib.contextmanager
    def moving(self) -> Iterator[None]:
        """Move nodes until the block ends."""
        self._wait_until_known()
        with repeated_calls.repeating(self.network.cluster, self._move_some, pause_seconds=0):
            yield

    def racks_of(self, node: str, since: int, until_version: int) -> set[str]:
        """Return the racks that a node was in as far as the operator may have known.

        That is when it decided on what was created at one version and bound at another.
        """
        last_known = max(count for version, count in self.known if version < since)
        was_in = [self.before[node]]
        was_in += [each.rack for each in self.moves[:last_known] if each.node == node]
        moved = [each for each in self.moves[last_known:] if each.node == node]
        return {was_in[-1], *(each.rack for each in moved if each.version <= until_version)}

    def _move_some(self, client: access.Client) -> None:
        # No rack both gives and takes, so only all of these moves together make their outcome.
        racks = sorted(set(self.before.values()))
        self._random.shuffle(racks)
        giving, taking = racks[::2], racks[1::2]
        leaving = [node for node, rack in self._racks.items() if rack in giving]
        for node in self._random.sample(leaving, min(MOVES_AT_ONCE, len(leaving))):
            self._racks[node] = self._random.choice(taking)
            made = networks.move(client, node, RACK, self._racks[node])
            self.moves.append(Move(made, node, self._racks[node]))
        self._wait_until_known()

    def _wait_until_known(self) -> None:
        expected = {"": len(self._racks), **Counter(self._racks.values())}

        def known() -> int:
            topology = self.network.topology()
            return networks.version(topology) if networks.node_nums(topology) == expected else 0

        self.known.append((until(known), len(self.moves)))


def test_no_gang_is_split_by_nodes_that_move_while_it_is_placed(
    plane: controlplane.ControlPlane, network: Network, namespace: Namespace
) -> None:
    before = {f"node-{i}": f"rack-{i % CROWD_RACKS}" for i in range(CROWD_NODES)}
    network.build({name: {RACK: rack} for name, rack in before.items()}, cpu=2)
    network.has(RACKS)
    gangs = {f"g{i}": SIZES[i % len(SIZES)] for i in range(GANGS)}
    mover = Mover(network, before)
    with (
        controlplane.Scheduler(plane) as scheduler,
        namespace.watch() as watcher,
        mover.moving(),
    ):
        for name, size in gangs.items():
            namespace.create_in_order(networks.asking(gang(name, size), RackLayer="MustGather"))
        watcher.wait_until(
            lambda seen: sum(1 for pod in seen.states.values() if pod.node) == sum(gangs.values()),
            BINDING_SECONDS,
        )
        assert [] == watcher.partial_gangs(gangs)
        assert [] == operator_health.tracebacks(scheduler)
        assert [] == gang_manifests.errors_of(scheduler)

    assert [] == [name for name in gangs if not common_racks(name, watcher, mover)]
    # Else nothing was tried: most gangs would be split if they were placed now.
    racks = network.labels(RACK)
    assert any(1 < len({racks[node] for node in watcher.bound(name).values()}) for name in gangs)


def common_racks(name: str, watcher: controlplane.Watcher, mover: Mover) -> set[str]:
    """Return the racks that the node of every member was in, as far as the operator may know."""
    events = [each for each in watcher.history if each.gang == name]
    created = min(int(each.resource_version) for each in events)
    bound: dict[str, tuple[int, str]] = {}
    for each in events:
        if each.node:
            bound.setdefault(each.name, (int(each.resource_version), each.node))
    last = max(version for version, _ in bound.values())
    return set.intersection(*(mover.racks_of(node, created, last) for _, node in bound.values()))


def test_gangs_are_whole_and_in_their_racks_however_often_the_operator_was_killed(
    scheduler: controlplane.Scheduler, proxy: FaultProxy, network: Network, namespace: Namespace
) -> None:
    # As much room as is needed: a gang that takes what the rest of another needs is seen.
    racks = {f"node-{i}": f"rack-{i % TIGHT_GANGS}" for i in range(2 * TIGHT_GANGS)}
    network.build({name: {RACK: rack} for name, rack in racks.items()}, cpu=2)
    network.has(RACKS)
    gangs = {f"g{i}": TIGHT_SIZE for i in range(TIGHT_GANGS)}
    for name, size in gangs.items():
        namespace.create(*networks.asking(gang(name, size), RackLayer="MustGather"))

    for bound in KILLED_AFTER:
        kill_after(bound, scheduler, proxy, namespace)
    scheduler.start()

    eventually(TIGHT_SIZE * TIGHT_GANGS, lambda: len(namespace.bound()))
    found = {name: {racks[n] for n in namespace.bound(f"{name}-").values()} for name in gangs}
    assert {1} == {len(each) for each in found.values()}


def kill_after(
    bound: int, scheduler: controlplane.Scheduler, proxy: FaultProxy, namespace: Namespace
) -> None:
    """Start an operator, and kill it when so many pods are bound; some gangs are so in part."""
    left = bound - len(namespace.bound())
    proxy.start_over(lambda number, _: PASS if number <= left else HOLD)
    scheduler.start()
    eventually(bound, lambda: len(namespace.bound()))
    until(lambda: proxy.held)
    scheduler.kill()
    proxy.start_over()
    # One more may have been on its way to the proxy when the operator was killed.
    assert bound <= len(namespace.bound())
