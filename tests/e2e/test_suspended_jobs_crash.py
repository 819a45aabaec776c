"""The operator is killed at the writes of suspended Jobs: the next one ends what was begun."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.support import gang_manifests, queues, suspended_jobs
from e2e.support.fault_proxy import HOLD, LOSE_ANSWER, PASS, Choose, Fault, FaultProxy
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.preemption import HIGH, LOW
from e2e.support.queues import GROUP, Objects, queue
from e2e.support.suspended_jobs import (
    ADMITTED_AT,
    FLAGS,
    annotations,
    failures,
    is_suspended,
    job,
    no_pods,
    pods,
)
from e2e.support.waiting import eventually, until
from e2e.support.workload_makers import TRAIN_JOB, Controllers, train_job
from tools import controlplane, foreign_crds
from tools.jobset import standin

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    job_sets = yaml.safe_load(standin.CRD.read_text())
    made = suspended_jobs.control_plane(crds, job_sets, *foreign_crds.of_workload_makers())
    with made as started:
        yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    kubeconfig = plane.directory / "kubeconfig-proxy"
    with FaultProxy(plane.access, kubeconfig, patched_job) as started:
        yield started


@pytest.fixture
def home(namespace: Namespace, objects: Objects) -> Iterator[Namespace]:
    """Give a namespace with a node of two CPUs, and a queue of as many; no Job is left."""
    yield from _with_room(namespace, objects, 2)


@pytest.fixture
def roomy(namespace: Namespace, objects: Objects) -> Iterator[Namespace]:
    """Give the same with three CPUs."""
    yield from _with_room(namespace, objects, 3)


def _with_room(namespace: Namespace, objects: Objects, cpu: int) -> Iterator[Namespace]:
    namespace.own_nodes(1, cpu=cpu)
    objects.create(queue("team", cpu))
    with suspended_jobs.without_jobs_in_the_end(namespace):
        yield namespace


def patched_job(method: str, path: str, body: bytes) -> str:
    """Return `start` or `suspend` for such a patch of a Job, "" for all else."""
    if method != "PATCH" or "/jobs/" not in path:
        return ""
    return "suspend" if json.loads(body)["spec"].get("suspend") else "start"


def at(write: str, fault: Fault) -> Choose:
    """Return what lets a write meet a fault, and no other."""
    return lambda _, name: fault if name == write else PASS


@pytest.mark.parametrize("fault", [HOLD, LOSE_ANSWER], ids=["before", "after"])
def test_killed_while_it_starts_a_job(
    start: Start, proxy: FaultProxy, home: Namespace, fault: Fault
) -> None:
    proxy.start_over(at("start", fault))
    first = start(*FLAGS)
    home.create(job("train", "team", on=home.here))
    if fault is HOLD:
        until(lambda: proxy.held)
        assert is_suspended(home, "train")
    else:
        until(lambda: not is_suspended(home, "train"))
    first.kill()
    before = annotations(home, "train")
    proxy.start_over()

    start(*FLAGS)

    eventually(2, lambda: len(home.bound("train-")))
    assert before.get(ADMITTED_AT) in (None, annotations(home, "train")[ADMITTED_AT])
    assert (0, []) == failures(home, "train")


def test_killed_while_pods_are_on_their_way(start: Start, home: Namespace) -> None:
    first = start(*FLAGS)
    # Without a node the job waits; the operator is killed as soon as it has started it.
    home.create(job("train", "team", on=home.here))
    until(lambda: not is_suspended(home, "train"))
    first.kill()
    home.create(*queues.gang("rival", 2, "team", on=home.here))
    eventually(2, lambda: len(pods(home, "train")))

    start(*FLAGS)

    until(lambda: len(home.bound()) == 2)
    assert 2 == len(home.bound("train-"))


@pytest.mark.parametrize("there", [0, 1], ids=["before-the-first", "after-the-first"])
def test_killed_before_all_pods_are_there(start: Start, home: Namespace, there: int) -> None:
    """`there` is how many of two pods have come by then."""
    first = start(*FLAGS)
    home.create(no_pods(but=there))
    home.create(job("train", "team", on=home.here))
    until(lambda: not is_suspended(home, "train"))
    eventually(there, lambda: len(pods(home, "train")))
    first.kill()
    # Room and quota are for one of the two.
    home.create(job("rival", "team", on=home.here))

    start(*FLAGS)

    home.delete("resourcequotas", "none")
    eventually(2, lambda: len(home.bound("train-")))
    assert is_suspended(home, "rival")
    assert (0, []) == failures(home, "train")


def test_killed_while_it_waits_for_pods_that_never_come(start: Start, home: Namespace) -> None:
    first = start(*FLAGS)
    home.create(no_pods())
    home.create(job("train", "team", on=home.here))
    until(lambda: not is_suspended(home, "train"))
    first.kill()

    start(*FLAGS, "--pods-timeout-seconds=1")

    until(lambda: is_suspended(home, "train"))
    left = annotations(home, "train")
    assert {each for each in left if each.startswith(GROUP)} == set()


@pytest.mark.parametrize("fault", [HOLD, LOSE_ANSWER], ids=["before", "after"])
def test_killed_while_it_suspends_a_victim(
    start: Start, proxy: FaultProxy, home: Namespace, fault: Fault
) -> None:
    first = start(*FLAGS)
    home.create(job("victim", "team", on=home.here, priorityClassName=LOW))
    eventually(2, lambda: len(home.bound("victim-")))
    proxy.start_over(at("suspend", fault))
    home.create(*queues.gang("urgent", 2, "team", on=home.here, priorityClassName=HIGH))
    if fault is HOLD:
        until(lambda: proxy.held)
        assert not is_suspended(home, "victim")
    else:
        until(lambda: is_suspended(home, "victim"))
    first.kill()
    proxy.start_over()

    start(*FLAGS)

    eventually(2, lambda: len(home.bound("urgent-")))
    eventually([], lambda: pods(home, "victim"))
    assert is_suspended(home, "victim")
    home.delete_gangs("urgent")
    eventually(2, lambda: len(home.bound("victim-")))
    assert (0, []) == failures(home, "victim")


def test_killed_while_the_nodes_of_a_train_job_are_on_their_way(
    start: Start, roomy: Namespace
) -> None:
    flags = ("--manage-job=TrainJob", *FLAGS)
    controllers = Controllers(roomy, on=roomy.here)
    first = start(*flags)
    gang_manifests.create(roomy, train_job("train", "team"))
    until(lambda: not controllers.suspended(TRAIN_JOB, "train"))
    first.kill()
    # Room and quota are for three pods. None of those of the TrainJob has come, but for its data.
    rival = job("rival", "team", pods=3, on=roomy.here)
    roomy.create(rival)

    start(*flags)

    eventually(1, lambda: controllers.bound("train-data"))
    eventually(2, lambda: controllers.bound("train-node"))
    assert is_suspended(roomy, "rival")
