"""Gangs that are hard to decide: others start beside them, and no restart begins with them."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support import slow_operator
from e2e.support.manifests import gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

REST_SECONDS = 10 * slow_operator.GANGS["short"]
SET_ASIDE = "py-gang-scheduler.io/set-aside"


class Hard(controlplane.Scheduler):
    """The operator, with decisions that take long; they are `cut` as they are in fact, or never."""

    def __init__(self, namespace: Namespace, *, cut: bool = True) -> None:
        self.lease = f"hard-{namespace.name}"
        self._cut = cut
        flags = ("--leader-elect", f"--lease-name={self.lease}", "--lease-namespace=default")
        super().__init__(
            *(namespace.cluster, *flags, f"--scheduler-names={SCHEDULER}"), name="hard-scheduler"
        )

    @property
    def command(self) -> list[str]:
        """What starts it."""
        flags = self._argv[self._argv.index("run") :]
        never_cut = () if self._cut else ("--never-cut",)
        return [sys.executable, "-P", slow_operator.__file__, *never_cut, *flags]

    def told(self) -> list[str]:
        """Return the names of the gangs that the Lease tells the next leader of."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{self.lease}"
        annotations = self.cluster.request("GET", path)["metadata"].get("annotations") or {}
        return [name for _, _, name, *_ in json.loads(annotations.get(SET_ASIDE, "[]"))]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of the log of a kind."""
        lines = (line for line in self.log.read_text().splitlines() if line.startswith("{"))
        return [line for line in map(json.loads, lines) if line["event"] == event]


SCHEDULER = "hard"


@pytest.fixture
def hard(namespace: Namespace) -> Iterator[Hard]:
    namespace.own_nodes(2, cpu=4)
    with Hard(namespace) as started:
        yield started


@pytest.fixture
def never_cut(namespace: Namespace) -> Iterator[Hard]:
    namespace.own_nodes(2, cpu=4)
    with Hard(namespace, cut=False) as started:
        yield started


def too_large(namespace: Namespace, name: str) -> None:
    """Create a gang that finds no room."""
    namespace.create(*gang(name, 2, cpu=99, on=namespace.here, scheduler=SCHEDULER))


def starts(namespace: Namespace, name: str, within_seconds: float) -> None:
    """Create a pod that has room, and see it bound."""
    namespace.create(pod(name, cpu=1, on=namespace.here, scheduler=SCHEDULER))
    until(lambda: bool(namespace.node_of(name)), timeout_seconds=within_seconds)


def reason(namespace: Namespace, name: str) -> str:
    return str(namespace.condition_of_pod(name).get("reason"))


def test_others_start_beside_a_gang_that_is_hard_to_decide(
    namespace: Namespace, hard: Hard
) -> None:
    too_large(namespace, "short")
    for number in range(6):
        starts(namespace, f"early-{number}", within_seconds=30)
        if reason(namespace, "short-0") == "SetAside":
            break
    eventually("SetAside", lambda: reason(namespace, "short-0"), timeout_seconds=30)
    assert hard.metric("pgs_costly_decisions_total") >= 2
    (*_, told) = hard.said("loop_held")
    assert ("cycle", f"{namespace.name}/short") == (told["work"], told["about"])
    assert any("slowly" in each for each in told["frames"])

    hard.kill()
    assert ["short"] == hard.told()
    hard.start()
    until(lambda: hard.said("begins_with_gangs_set_aside"), timeout_seconds=60)
    began = time.monotonic()
    starts(namespace, "late", within_seconds=60)
    if time.monotonic() - began < REST_SECONDS / 2:
        assert 0 == hard.metric("pgs_costly_decisions_total")
    assert "SetAside" == reason(namespace, "short-0")


def test_a_restart_begins_with_the_gang_set_aside_that_the_last_one_was_stuck_with(
    namespace: Namespace, never_cut: Hard
) -> None:
    too_large(namespace, "long")
    until(lambda: never_cut.told() == ["long"], timeout_seconds=60)

    never_cut.kill()
    never_cut.start()

    starts(namespace, "late", within_seconds=60)
    eventually("SetAside", lambda: reason(namespace, "long-0"), timeout_seconds=30)


def test_a_decision_without_end_is_cut(namespace: Namespace, hard: Hard) -> None:
    too_large(namespace, "long")
    until(lambda: hard.said("loop_held"), timeout_seconds=60)

    starts(namespace, "late", within_seconds=60)
    eventually("SetAside", lambda: reason(namespace, "long-0"), timeout_seconds=30)
    assert [] == hard.said("internal_error")
