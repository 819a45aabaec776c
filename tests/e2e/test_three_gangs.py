"""Three gangs, room for two: two run whole, the third waits, says why, and runs when it can."""

import pytest

from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.usefixtures("scheduler")]

EIGHT_NODES_EACH = {"pods": 8, "cpu": 20}
WHY = (
    "Needs 8 nodes with 20 free cpu, none has them; the nearest node is short of 8 cpu. It would "
    "fit the empty cluster: it waits for other pods to end. 0/16 nodes are available: 16 "
    "Insufficient cpu."
)


def test_two_of_three_run_and_the_third_follows_when_one_is_deleted(namespace: Namespace) -> None:
    everyone = dict.fromkeys("abc", 8)
    with namespace.watch() as watcher:
        for name in everyone:
            namespace.create(*gang(name, **EIGHT_NODES_EACH))
        watcher.wait_until(lambda seen: len(running(seen)) == 16)

        (third,) = (name for name in everyone if not watcher.ever_bound(name))
        first = min(set(everyone) - {third})
        eventually(("Scheduling", "Unschedulable"), lambda: shown_by_kubectl(namespace, third))
        eventually(WHY, lambda: namespace.condition_of_gang(third, "Scheduled").get("message"))
        assert [WHY] == until(lambda: namespace.notes(third, "FailedScheduling"))
        assert set() == watcher.ever_bound(third)

        namespace.delete("podgroups", first)
        namespace.delete("pods", *(f"{first}-{i}" for i in range(8)))
        watcher.wait_until(lambda seen: len(seen.bound(third)) == 8)

        assert [] == watcher.partial_gangs({name: 8 for name in everyone if name != first})
    eventually("Running", lambda: namespace.phase(third))


def running(seen: controlplane.Watcher) -> list[str]:
    return [pod.name for pod in seen.states.values() if pod.phase == "Running"]


def shown_by_kubectl(namespace: Namespace, gang_name: str) -> tuple[str, str]:
    heading, row = namespace.kubectl("get", "podgroups", gang_name).splitlines()
    # Cells may be empty, so they are cut where their headings begin.
    return cell(heading, row, "PHASE"), cell(heading, row, "REASON")


def cell(heading: str, row: str, column: str) -> str:
    return row[heading.index(column) :].split(maxsplit=1)[0]
