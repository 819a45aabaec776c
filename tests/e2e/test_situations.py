"""Every scripted situation on a real API server, explained from all three sources.

The first sentence names the cause that the situation made, and once it is undone the gang is bound.
One after the other, in an empty cluster each, since sentences count all nodes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cases.test_cases import Case, expanded
from conformance.test_explain_cases import CASES
from e2e.support import queues, tenants
from e2e.support.manifest_worlds import NAMESPACE, World
from e2e.support.waiting import eventually
from e2e.variants import clusters, trials
from gang_scheduler.cli import main
from gang_scheduler.scheduler.explanation.findings import Change
from support import listed_clusters
from tools import controlplane, foreign_crds
from tools.controlplane import Options

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without nodes and kubelets, with Kueue's CRDs beside ours."""
    with controlplane.start(Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        queues.install(started, *foreign_crds.queues_of_kueue(current="v1beta1"))
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture(scope="module")
def tenant(plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the kubeconfig of a user that may read gangs in this namespace alone."""
    return tenants.of_namespace(plane, NAMESPACE, tmp_path_factory.mktemp("tenant"))


@pytest.fixture(scope="module")
def whole_world(plane: controlplane.ControlPlane) -> World:
    return World(plane)


@pytest.fixture
def world(whole_world: World) -> Iterator[World]:
    """Give an empty cluster."""
    yield whole_world
    whole_world.clear()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_situation_is_explained_from_all_sources_and_can_be_undone(
    case: Case, world: World, tenant: Path, tmp_path: Path
) -> None:
    world.put(expanded(case["manifests"]))
    eventually(case.get("reason"), lambda: reason_written(case, world))

    live = explained(case, f"--kubeconfig={world.cluster.kubeconfig}")
    written = explained(case, f"--kubeconfig={tenant}")
    snapshot = taken(world, tmp_path / "snapshot.jsonl.gz")
    again = explained(case, f"--filename={snapshot}", f"--at={live['readAt']}")

    assert "live" == live["source"]
    assert case.get("reason") == live.get("reason")
    assert case.get("live", case.get("summary", live["summary"])) == live["summary"]
    assert case.get("warns", []) == [each["reason"] for each in live.get("warnings", [])]
    assert "written" == written["source"]
    assert case.get("reason") == written.get("reason")
    assert case.get("names", live["summary"]) in written["summary"]
    # A snapshot has no Events.
    again.pop("historyLacks", None)
    assert live | {"source": "files", "history": []} == again | {"history": []}

    world.remove(case["undo"].get("remove", []))
    world.put(expanded(case["undo"].get("set", [])))

    eventually([], lambda: world.waiting(case["name"]))


def test_there_is_a_cluster_for_each_change_that_may_be_proposed() -> None:
    assert {*Change} == {*clusters.BY_CHANGE}


@pytest.mark.parametrize("change", clusters.BY_CHANGE)
def test_a_change_that_is_proposed_starts_the_gang(change: str, world: World) -> None:
    bodies = [*expanded(clusters.BY_CHANGE[change]())]

    trial = next(trials.carried_out(world, bodies, only=change))

    assert (change, True) == (trial.proposal.change, trial.started)


def reason_written(case: Case, world: World) -> str | None:
    """Return why a gang waits, as the operator wrote it: in its PodGroup, else in its pods."""
    for kind, condition in (("PodGroup", "Scheduled"), ("Pod", "PodScheduled")):
        for each in world.of_name(kind, case["name"]):
            conditions = each.get("status", {}).get("conditions", [])
            found = next((one for one in conditions if one["type"] == condition), None)
            if found is not None and found["status"] == "False":
                reason: str = found["reason"]
                return reason if reason != "SchedulingGated" else None
    return None


def taken(world: World, file: Path) -> Path:
    outcome = run("snapshot", f"--output={file}", f"--kubeconfig={world.cluster.kubeconfig}")
    assert 0 == outcome.exit_code, outcome.output
    return file


def explained(case: Case, *source: str) -> Any:
    """Return the document of the gang of a case."""
    names = "explain", case["name"], f"--namespace={NAMESPACE}", "--output=json"
    outcome = run(*names, *source)
    assert 0 == outcome.exit_code, outcome.output
    found = json.loads(outcome.stdout)
    listed_clusters.hold(found)
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)
