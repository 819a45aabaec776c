"""Jobs that wait suspended in queues: started in the order of turns, suspended to evict them."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import queues, suspended_jobs
from e2e.support.namespaces import Namespace
from e2e.support.preemption import HIGH, LOW
from e2e.support.queues import FLAVORS, GROUP, QUEUE, Objects, queue, resource_flavor
from e2e.support.suspended_jobs import (
    ADMITTED_AT,
    ADMITTED_FROM,
    annotations,
    failures,
    is_suspended,
    job,
    no_pods,
    patch,
    pods,
    started,
)
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

POOL = "example.com/pool"


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    with suspended_jobs.control_plane(crds) as started:
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with suspended_jobs.managing(plane, "Job") as started:
        yield started


@pytest.fixture
def home(namespace: Namespace) -> Iterator[Namespace]:
    with suspended_jobs.without_jobs_in_the_end(namespace):
        yield namespace


def test_a_job_has_no_pod_before_it_is_admitted(home: Namespace, objects: Objects) -> None:
    home.own_nodes(1)
    team = queue("team-one", 2)
    objects.create_and_wait(team)
    home.create(job("first", "team-one", on=home.here))
    eventually(2, lambda: len(home.bound("first-")))
    home.create(job("second", "team-one", on=home.here))
    eventually(1, lambda: objects.status(team).get("pendingJobs"))

    assert [] == pods(home, "second")
    assert is_suspended(home, "second")
    notes = annotations(home, "first")
    assert ("team-one", '{"cpu":"default"}') == (notes[QUEUE], notes[FLAVORS])
    assert home.notes("first", "Admitted")

    home.delete("jobs", "first")
    eventually(2, lambda: len(home.bound("second-")))
    admitted_at = annotations(home, "second")[ADMITTED_AT]
    created = [each["metadata"]["creationTimestamp"] for each in pods(home, "second")]
    assert min(created) >= admitted_at


def test_jobs_are_admitted_in_the_order_of_turns(home: Namespace, objects: Objects) -> None:
    home.own_nodes(1)
    team = queue("team-turns", 2)
    objects.create_and_wait(team)
    home.create(job("running", "team-turns", on=home.here, priorityClassName=LOW))
    eventually(2, lambda: len(home.bound("running-")))
    classes = {"low": LOW, "high": HIGH, "late": LOW}
    for name, priority in classes.items():
        home.wait_for_the_next_second()
        home.create(job(name, "team-turns", on=home.here, priorityClassName=priority))
    # Queues evict within themselves for higher priorities.
    eventually(["high"], lambda: started(home, ["running", *classes]))

    order = ["high"]
    for _ in range(3):
        home.delete("jobs", order[-1])
        left = sorted({"running", *classes} - set(order))
        order += until(functools.partial(started, home, left))
        eventually(2, functools.partial(_bound, home, order[-1]))
    assert ["high", "running", "low", "late"] == order
    assert (0, []) == failures(home, "late")


def test_room_is_kept_for_pods_that_are_on_their_way(home: Namespace, objects: Objects) -> None:
    (node,) = home.own_nodes(1, cpu=2)
    objects.create_and_wait(queue("team-room", 8))
    home.create(no_pods())
    home.create(job("slow", "team-room", on=home.here))
    until(lambda: not is_suspended(home, "slow"))
    other = home.cluster
    with Namespace(other, "rival") as rival:
        rival.create(*queues.gang("rival", 2, "team-room", on=home.here))
        home.delete("resourcequotas", "none")

        eventually({node}, lambda: set(home.bound("slow-").values()))
        eventually(2, lambda: len(home.bound("slow-")))
        assert {} == rival.bound()


def test_pods_that_do_not_come_have_the_job_suspended_again(
    home: Namespace, objects: Objects
) -> None:
    home.own_nodes(1)
    objects.create_and_wait(queue("team-missing", 2))
    home.create(no_pods())
    home.create(job("missing", "team-missing", on=home.here))
    until(lambda: ADMITTED_AT in annotations(home, "missing"))

    until(lambda: home.notes("missing", "Suspended"))
    home.delete("resourcequotas", "none")

    eventually(2, lambda: len(home.bound("missing-")))
    assert (0, []) == failures(home, "missing")


def test_an_evicted_job_is_suspended_and_starts_again_with_no_failure_counted(
    home: Namespace, objects: Objects
) -> None:
    home.own_nodes(1, cpu=2)
    objects.create_and_wait(queue("team-evicted", 2))
    home.create(job("victim", "team-evicted", on=home.here, priorityClassName=LOW))
    eventually(2, lambda: len(home.bound("victim-")))

    home.create(*queues.gang("urgent", 2, "team-evicted", on=home.here, priorityClassName=HIGH))
    eventually(2, lambda: len(home.bound("urgent-")))
    assert is_suspended(home, "victim")
    assert ADMITTED_AT not in annotations(home, "victim")
    eventually([], lambda: pods(home, "victim"))
    assert home.notes("victim", "Preempted")

    home.delete_gangs("urgent")
    eventually(2, lambda: len(home.bound("victim-")))
    assert (0, []) == failures(home, "victim")


def test_a_job_comes_back_to_another_flavor(home: Namespace, objects: Objects) -> None:
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    tolerated = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
    pools = ("firm", "spot")
    for name in pools:
        taints = (taint,) if name == "spot" else ()
        home.own_nodes(1, cpu=2, labels={POOL: name}, taints=taints)
        flavor = resource_flavor(name, {POOL: name})
        if taints:
            flavor["spec"] |= {"nodeTaints": [taint], "tolerations": [tolerated]}
        objects.create(flavor)
    flavors = [{"name": name, "quota": {"soft": {"cpu": "2"}}} for name in pools]
    objects.create_and_wait(queue("team-flavors", flavors=flavors))
    home.create(job("moved", "team-flavors", on=home.here, priorityClassName=LOW))
    eventually('{"cpu":"firm"}', lambda: annotations(home, "moved").get(FLAVORS))
    eventually(2, lambda: len(home.bound("moved-")))
    assert {**home.here, POOL: "firm"} == _pod(home, "moved")["nodeSelector"]

    # What evicts can run on one of the flavors alone.
    firm = {**home.here, POOL: "firm"}
    home.create(*queues.gang("urgent", 2, "team-flavors", on=firm, priorityClassName=HIGH))

    eventually('{"cpu":"spot"}', lambda: annotations(home, "moved").get(FLAVORS))
    eventually(2, lambda: len(home.bound("moved-")))
    assert {**home.here, POOL: "spot"} == _pod(home, "moved")["nodeSelector"]
    assert [tolerated] == _pod(home, "moved")["tolerations"]
    assert ADMITTED_FROM in annotations(home, "moved")
    assert (0, []) == failures(home, "moved")


def test_what_a_user_suspends_stays_so_until_the_user_lets_it_go(
    home: Namespace, objects: Objects
) -> None:
    home.own_nodes(1)
    objects.create_and_wait(queue("team-user", 2))
    home.create(job("mine", "team-user", on=home.here))
    eventually(2, lambda: len(home.bound("mine-")))

    patch(home.cluster, home.name, "mine", {"spec": {"suspend": True}})
    eventually([], lambda: pods(home, "mine"))
    # Room and quota are there for another one, so it would have had its turn by now.
    home.create(job("next", "team-user", on=home.here))
    eventually(2, lambda: len(home.bound("next-")))
    assert is_suspended(home, "mine")
    home.delete("jobs", "next")

    patch(home.cluster, home.name, "mine", {"metadata": {"annotations": {ADMITTED_AT: None}}})
    eventually(2, lambda: len(home.bound("mine-")))


def test_what_is_not_ours_is_left_alone(home: Namespace, objects: Objects) -> None:
    home.own_nodes(1)
    objects.create_and_wait(queue("team-ours", 8))
    elsewhere = job("elsewhere", "team-ours", on=home.here)
    elsewhere["spec"]["managedBy"] = "example.com/another"
    theirs = job("theirs", "team-ours", on=home.here, scheduler="default-scheduler")
    queueless = job("queueless", "", on=home.here)
    left = {each["metadata"]["name"]: each for each in (elsewhere, theirs, queueless)}
    home.create(*left.values())

    home.create(job("ours", "team-ours", on=home.here))
    eventually(2, lambda: len(home.bound("ours-")))

    assert [] == started(home, left)
    assert [{}] * len(left) == [annotations(home, name) for name in left]


def test_the_last_checkpoint_is_on_the_job_and_its_next_pods_go_on_from_it(
    home: Namespace, objects: Objects
) -> None:
    home.own_nodes(1, cpu=2)
    objects.create_and_wait(queue("team-saves", 2))
    home.create(job("saver", "team-saves", on=home.here, priorityClassName=LOW))
    eventually(2, lambda: len(home.bound("saver-")))
    saved = {f"{GROUP}/checkpoint-done-at": "2026-01-01T12:00:00Z"}
    saved |= {f"{GROUP}/checkpoint-step": "5", f"{GROUP}/checkpoint-path": "s3://b/c"}
    first = sorted(home.bound("saver-"))[0]
    home.change_pod(first, lambda found: _annotate(found, saved))
    told = {"doneAt": "2026-01-01T12:00:00Z", "step": 5, "path": "s3://b/c"}
    eventually(told, lambda: _latest(home, "saver"))

    home.create(*queues.gang("urgent", 2, "team-saves", on=home.here, priorityClassName=HIGH))
    eventually(2, lambda: len(home.bound("urgent-")))
    eventually([], lambda: pods(home, "saver"))
    home.delete_gangs("urgent")

    eventually(2, lambda: len(home.bound("saver-")))
    notes = [each["metadata"]["annotations"] for each in pods(home, "saver")]
    assert ["s3://b/c"] * 2 == [each.get(f"{GROUP}/resume-path") for each in notes]
    eventually({**told, "resumeCount": 1}, lambda: _latest(home, "saver"))


def _annotate(found: dict[str, Any], more: dict[str, str]) -> None:
    found["metadata"].setdefault("annotations", {}).update(more)


def _latest(home: Namespace, name: str) -> object:
    return json.loads(annotations(home, name).get(f"{GROUP}/checkpoint-latest", "{}"))


def test_a_drained_queue_suspends_its_jobs(home: Namespace, objects: Objects) -> None:
    home.own_nodes(1)
    team = queue("team-drained", 4)
    objects.create_and_wait(team)
    home.create(job("drained", "team-drained", on=home.here))
    eventually(2, lambda: len(home.bound("drained-")))

    objects.change(team, stopPolicy="HoldAndDrain")
    until(lambda: is_suspended(home, "drained"))
    eventually([], lambda: pods(home, "drained"))
    objects.change(team, stopPolicy="None")

    eventually(2, lambda: len(home.bound("drained-")))
    assert (0, []) == failures(home, "drained")


def _bound(home: Namespace, name: str) -> int:
    return len(home.bound(f"{name}-"))


def _pod(home: Namespace, name: str) -> dict[str, object]:
    """Return the spec of the pods that a Job makes now."""
    found: dict[str, object] = home.get("jobs", name)["spec"]["template"]["spec"]
    return found
