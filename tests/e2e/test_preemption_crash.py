"""The operator is killed between any two writes of a preemption: the next one ends it, no more.

A proxy before the API server decides which writes get through. The nodes have no kubelets: an
evicted pod is gone when the test says so.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import preemption
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.manifests import pod_group
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.preemption import high, let_go, low
from e2e.support.preemption_stages import stage_of
from e2e.support.waiting import eventually
from tools import controlplane

pytestmark = pytest.mark.e2e

NODES, NEEDED, CPUS = 8, 4, 5
VICTIMS = NEEDED * CPUS
EVERYONE = NODES * CPUS


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own: no other operator shall go on where ours was killed."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, stage_of) as started:
        yield started


def test_killed_while_it_nominates(start: Start, proxy: FaultProxy, namespace: Namespace) -> None:
    fill(namespace)
    crash_after(2, "nominate", start, proxy)
    assert 2 == len(preemption.nominated(namespace))

    start()

    ends_well(namespace)


@pytest.mark.parametrize(("stage", "done"), [("mark", 0), ("mark", 7), ("evict", 7)])
def test_killed_while_it_marks_or_evicts(
    start: Start, proxy: FaultProxy, namespace: Namespace, stage: str, done: int
) -> None:
    fill(namespace)
    crash_after(done, stage, start, proxy)
    places = preemption.nominated(namespace, "a-")
    assert (VICTIMS if stage == "evict" else done) == len(preemption.marked(namespace))

    start()

    ends_well(namespace)
    assert places == namespace.bound("a-")


def test_killed_while_it_binds(start: Start, proxy: FaultProxy, namespace: Namespace) -> None:
    fill(namespace)
    proxy.start_over(after(2, "bind"))
    first = start()
    eventually(VICTIMS, lambda: len(preemption.evicted(namespace)))
    places = preemption.nominated(namespace, "a-")
    let_go(namespace, preemption.evicted(namespace))
    eventually(NEEDED - 2, lambda: len(proxy.held))
    first.kill()
    proxy.start_over()

    start()

    eventually(places, lambda: namespace.bound("a-"))
    assert EVERYONE - VICTIMS == len(namespace.bound("low-"))
    assert set() == preemption.evicted(namespace) | preemption.marked(namespace)


def test_killed_while_victims_leave(start: Start, namespace: Namespace) -> None:
    fill(namespace)
    first = start()
    eventually(VICTIMS, lambda: len(preemption.evicted(namespace)))
    places = preemption.nominated(namespace, "a-")
    some = sorted(preemption.evicted(namespace))[:7]
    namespace.delete("pods", *some)
    first.kill()

    start()

    let_go(namespace, preemption.evicted(namespace))
    eventually(places, lambda: namespace.bound("a-"))
    assert EVERYONE - VICTIMS == len(namespace.bound("low-"))


def test_a_pod_that_was_marked_is_let_off_when_there_is_room_after_all(
    start: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    nodes = fill(namespace)
    crash_after(7, "mark", start, proxy)
    places = set(preemption.nominated(namespace).values())
    spared = [node for node in nodes if node not in places]
    ended = [name for name, node in namespace.bound("low-").items() if node in spared]
    namespace.delete("pods", *ended)

    start()

    eventually(set(spared), lambda: set(namespace.bound("a-").values()))
    eventually(set(), lambda: preemption.marked(namespace))
    assert set() == preemption.evicted(namespace)
    assert {} == preemption.nominated(namespace)


def test_a_pod_that_was_marked_is_let_off_when_the_preemptor_is_deleted(
    start: Start, proxy: FaultProxy, namespace: Namespace
) -> None:
    fill(namespace)
    crash_after(7, "mark", start, proxy)
    namespace.delete_gangs("a")

    start()

    eventually(set(), lambda: preemption.marked(namespace))
    assert EVERYONE == len(namespace.bound("low-"))
    assert set() == preemption.evicted(namespace)


def fill(namespace: Namespace) -> list[str]:
    """Fill all nodes, each with a gang that needs all its members; a gang wants half of them."""
    names = namespace.own_nodes(NODES, cpu=CPUS, kubelets=False)
    namespace.create(*(pod_group(f"low-{number}", CPUS) for number in range(NODES)))
    namespace.create(
        *(
            low(f"low-{number}-{member}", node, gang_name=f"low-{number}")
            for number, node in enumerate(names)
            for member in range(CPUS)
        )
    )
    namespace.create(*high("a", NEEDED, cpu=CPUS, on=namespace.here))
    return names


def crash_after(done: int, stage: str, start: Start, proxy: FaultProxy) -> None:
    """Let this many writes of a stage through, and kill the operator before the next."""
    number = NEEDED if stage == "nominate" else VICTIMS
    proxy.start_over(after(done, stage))
    scheduler = start()
    eventually(number - done, lambda: len(proxy.held))
    scheduler.kill()
    proxy.start_over()


def ends_well(namespace: Namespace) -> None:
    """See exactly the victims leave that are needed, in whole gangs, and the preemptor bound."""
    eventually(VICTIMS, lambda: len(preemption.evicted(namespace)))
    leaving = preemption.evicted(namespace)
    assert {CPUS} == set(Counter(name.rpartition("-")[0] for name in leaving).values())
    let_go(namespace, leaving)
    eventually(NEEDED, lambda: len(namespace.bound("a-")))
    assert EVERYONE - VICTIMS == len(namespace.bound("low-"))
    assert set() == preemption.evicted(namespace) | preemption.marked(namespace)
    assert {} == preemption.nominated(namespace)
