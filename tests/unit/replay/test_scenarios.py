"""The cluster of each policy: made nodes and queues, and what a file changes of them."""

from pathlib import Path

import pytest

from gang_scheduler.replay import operator_cycles, scenarios
from gang_scheduler.replay.jobs import NodesWanted, UnreadableJobs
from gang_scheduler.replay.scenarios import Clusters, Given, Scenario
from support.replays import trace

JOBS = trace("a,0,100,1,8,red", "b,0,100,1,8,blue", header="name,submit,duration,pods,gpu,queue")


def made(**given: object) -> tuple[Scenario, list[str]]:
    """Return the only scenario, and what is said of it."""
    clusters = Clusters(Given(**{"nodes": "4x8", **given}))  # type: ignore[arg-type]
    return clusters.scenarios(JOBS)[0], clusters.notes


def quotas(scenario: Scenario) -> dict[str, object]:
    """Return the declared queues by name."""
    loaded = (each for each in scenario.objects.loaded if each.gvr.plural == "queues")
    return {str(each.body["metadata"]["name"]): each.body["spec"] for each in loaded if each.body}


def test_nodes_are_made_and_that_is_said() -> None:
    scenario, notes = made()

    assert 4 == len(scenario.nodes)
    assert any(note.startswith("made 4 nodes of 8 GPUs, racks of 16") for note in notes)


def test_nodes_have_what_was_asked_for() -> None:
    wanted = scenarios.nodes_of("--nodes", "3x4,cpu=64,memory=1Ti,type=a100")

    assert NodesWanted(3, 4, 64_000, 2**40, "a100") == wanted


@pytest.mark.parametrize("text", ["8", "x8", "0x8", "3x", "3x8,disk=1", "3x8,cpu=lots"])
def test_nodes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UnreadableJobs, match="must be like 300x8"):
        scenarios.nodes_of("--nodes", text)


def test_queues_of_equal_quota_are_made_where_there_is_none() -> None:
    scenario, notes = made()

    assert {"red", "blue"} == quotas(scenario).keys()
    assert any("replay added 2 Queues of equal quota" in note for note in notes)


def test_no_queues_are_made_where_that_is_not_wanted() -> None:
    scenario, _ = made(make_queues=False)

    assert not scenario.has_queues


def test_a_policy_replaces_objects_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "preemption: false\nreservationAfterSeconds: 60\nmoreNodes: 2x8\n---\n"
        "apiVersion: py-gang-scheduler.io/v1alpha1\nkind: Queue\nmetadata: {name: red}\n"
        'spec: {quota: {soft: {nvidia.com/gpu: "24"}}}\n'
    )
    scenario, _ = made(policies=[f"more={path}"])

    assert not scenario.policy.rules.preemption.preemption
    assert 60 == scenario.policy.rules.promises.reservation_after_seconds
    assert 6 == len(scenario.nodes)
    assert {"red": {"quota": {"soft": {"nvidia.com/gpu": "24"}}}} == quotas(scenario)


def test_a_strategy_is_that_of_all_queues() -> None:
    scenario, _ = made(policies=["strict-fifo"])

    found = quotas(scenario)
    assert {"red", "blue"} == found.keys()
    assert all("StrictFIFO" in str(spec) for spec in found.values())


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ("nothing", "must be NAME=FILE, or one of as-is"),
        ("=x.yaml", "has no name before ="),
    ],
)
def test_a_policy_that_is_none_is_refused(policy: str, problem: str) -> None:
    with pytest.raises(UnreadableJobs, match=problem):
        made(policies=[policy])


def test_a_setting_that_there_is_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("preemptions: false\n")

    with pytest.raises(UnreadableJobs, match="no such setting; did you mean preemption"):
        made(policies=[f"a={path}"])


def test_two_policies_of_one_name_are_refused() -> None:
    with pytest.raises(UnreadableJobs, match="there are two called as-is"):
        made(policies=["as-is", "as-is"])


def test_a_cluster_without_nodes_is_refused() -> None:
    with pytest.raises(UnreadableJobs, match="there are no nodes"):
        made(nodes="")


def test_jobs_are_in_the_queues_that_they_name() -> None:
    scenario, _ = made()

    assert scenario.has_queues
    labels = operator_cycles.objects_of(scenario).pod(JOBS.jobs[0], 0, 0)["metadata"]["labels"]
    assert "red" == labels["py-gang-scheduler.io/queue"]
