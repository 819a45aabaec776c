"""A training loop saves its work when it is evicted, and goes on there. Its pods are processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import gang_manifests, preemption, training
from e2e.support.fault_proxy import FaultProxy, after
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.operator_health import Start
from e2e.support.preemption import high
from e2e.support.preemption_stages import stage_of
from e2e.support.training import annotation, begun, pods_of, saved
from e2e.support.waiting import eventually, until
from tools import controlplane, kubelet

pytestmark = pytest.mark.e2e

BY_ANNOTATION = {"checkpoint": "Annotation", "checkpoint-timeout": "2m"}
SIZE = 2
"""Pods of a training, and CPUs of a node."""


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, without KWOK."""
    with controlplane.start(controlplane.Options(kwok=False)) as started:
        started.kubectl("apply", f"--filename={crds}")
        with preemption.priority_classes(started):
            yield started


@pytest.fixture(scope="module")
def the_proxy(plane: controlplane.ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane.access, plane.directory / "kubeconfig-proxy", stage_of) as started:
        yield started


@pytest.fixture(scope="module")
def kubelets(plane: controlplane.ControlPlane) -> Iterator[kubelet.Kubelets]:
    with kubelet.running(plane, kubelet.PLACES) as started:
        yield started


@pytest.fixture(autouse=True)
def clean(namespace: Namespace) -> Iterator[None]:
    """Have scripts and rights; afterwards no Job may create pods again."""
    training.install(namespace)
    yield
    namespace.delete("jobs", *(job["metadata"]["name"] for job in namespace.every("jobs")))


def train(
    namespace: Namespace,
    kubelets: kubelet.Kubelets,
    name: str,
    annotations: dict[str, str] | None = None,
    *,
    hears: bool = True,
) -> dict[str, Manifest]:
    """Start a training that fills a node, and return its pods."""
    made = training.training(namespace, name, SIZE, annotations, hears=hears)
    gang_manifests.create(namespace, *made)
    return begun(namespace, kubelets, name, SIZE)


def urgent(namespace: Namespace, pods: int = SIZE) -> list[Manifest]:
    """Return a gang that needs this many CPUs and must have them."""
    return high("urgent", pods, on=namespace.here)


def asked(namespace: Namespace) -> dict[str, str]:
    """Return the ids of the requests that stand, by uid of the pod."""
    return {
        pod["metadata"]["uid"]: request
        for pod in namespace.every("pods")
        if annotation(pod, "checkpoint-requested-at")
        and (request := annotation(pod, "checkpoint-request-id"))
    }


@pytest.mark.parametrize("annotations", [None, BY_ANNOTATION], ids=["Signal", "Annotation"])
def test_a_training_goes_on_where_it_was_evicted(
    lasting: Start,
    kubelets: kubelet.Kubelets,
    namespace: Namespace,
    annotations: dict[str, str] | None,
) -> None:
    namespace.own_nodes(1, cpu=SIZE, labels=kubelet.LABELS)
    lasting("--checkpoint-annotations")
    pods = train(namespace, kubelets, "low", annotations)
    namespace.create(*urgent(namespace))
    eventually(SIZE, lambda: len(namespace.bound("urgent")))
    assert ("Saved" if annotations else None) == saved(namespace, "low").get("outcome")

    namespace.delete_gangs("urgent")

    step, path = goes_on(namespace, kubelets, "low", pods)
    until(lambda: training.last_beside(path)[0] > step)
    assert training.is_as_if_never_evicted(*training.last_beside(path))


def goes_on(
    namespace: Namespace, kubelets: kubelet.Kubelets, name: str, evicted: dict[str, Manifest]
) -> tuple[int, str]:
    """See a training go on in new pods where it was saved; return step and path."""
    pods = begun(namespace, kubelets, name, SIZE, but=evicted)
    found = {
        tuple(annotation(pod, f"resume-{each}") for each in ("path", "step", "count"))
        for pod in pods.values()
    }
    ((path, step, count),) = found
    assert "1" == count
    assert (int(step), path) in training.listed(namespace, name)
    assert training.is_as_if_never_evicted(int(step), path)
    for pod in pods.values():
        assert kubelets.log(pod).startswith(f"begins at step {step} from {path}\n")
    return int(step), path


def test_a_training_that_does_not_answer_goes_when_its_time_is_over(
    lasting: Start, kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE, labels=kubelet.LABELS)
    lasting("--checkpoint-annotations")
    deaf = {**BY_ANNOTATION, "checkpoint-timeout": "2s"}
    train(namespace, kubelets, "low", deaf, hears=False)

    namespace.create(*urgent(namespace))

    eventually(SIZE, lambda: len(namespace.bound("urgent")))
    eventually("TimedOut", lambda: saved(namespace, "low").get("outcome"))
    eventually(1, lambda: len(namespace.notes("low", "CheckpointTimedOut")))
    assert 1 == len(namespace.notes("low", "CheckpointRequested"))


def test_a_request_is_withdrawn_when_the_room_is_not_needed_any_more(
    lasting: Start, kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    namespace.own_nodes(1, cpu=SIZE, labels=kubelet.LABELS)
    lasting("--checkpoint-annotations")
    pods = train(namespace, kubelets, "low", BY_ANNOTATION, hears=False)
    namespace.create(*urgent(namespace))
    eventually(pods.keys(), lambda: asked(namespace).keys())
    until(lambda: namespace.condition_of_pod("urgent-0").get("reason") == "WaitingForCheckpoint")

    namespace.delete_gangs("urgent")

    eventually({}, lambda: asked(namespace))
    assert pods.keys() == pods_of(namespace, "low").keys()
    assert set() == preemption.marked(namespace)
    assert "" == "".join(annotation(pod, "checkpoint-request-id") for pod in pods.values())


@pytest.mark.parametrize(
    "at",
    [("ask", 0), ("mark", 0), ("evict", 0), ("evict", 1)],
    ids=["nominated", "answered", "marked", "evicted-one"],
)
def test_killed_on_the_way(
    lasting: Start,
    proxy: FaultProxy,
    kubelets: kubelet.Kubelets,
    namespace: Namespace,
    at: tuple[str, int],
) -> None:
    """`at` is the stage of which writes are held, and how many get through."""
    stage, done = at
    first = lasting("--checkpoint-annotations")
    trainings = fill(namespace, kubelets)
    proxy.start_over(after(done, stage))
    namespace.create(*urgent(namespace, 2 * SIZE))
    until(lambda: proxy.held)
    places = preemption.nominated(namespace)
    first.kill()
    proxy.start_over()

    lasting("--checkpoint-annotations")

    # As long as no training is asked, others may be cheaper by now.
    ends_well(namespace, trainings, None if stage == "ask" else places)


def test_killed_while_trainings_save(
    lasting: Start, kubelets: kubelet.Kubelets, namespace: Namespace
) -> None:
    first = lasting("--checkpoint-annotations")
    trainings = fill(namespace, kubelets)
    with kubelets.paused():
        namespace.create(*urgent(namespace, 2 * SIZE))
        eventually(2 * SIZE, lambda: len(asked(namespace)))
        places, requests = preemption.nominated(namespace), set(asked(namespace).values())
        first.kill()
    # They answer while there is no operator.
    until(lambda: all(annotation(pod, "checkpoint-done-at") for pod in rank_0_of_asked(namespace)))

    lasting("--checkpoint-annotations")

    victims = ends_well(namespace, trainings, places)
    assert requests == {saved(namespace, name)["requestId"] for name in victims}
    assert {"Saved"} == {saved(namespace, name)["outcome"] for name in victims}
    namespace.delete_gangs("urgent")
    for name in victims:
        goes_on(namespace, kubelets, name, trainings[name])


def rank_0_of_asked(namespace: Namespace) -> list[Manifest]:
    """Return the pods that answer requests for their gangs."""
    return [
        pod
        for pod in namespace.every("pods")
        if pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index") == "0"
        and annotation(pod, "checkpoint-request-id")
    ]


def fill(namespace: Namespace, kubelets: kubelet.Kubelets) -> dict[str, dict[str, Manifest]]:
    """Fill three nodes with a training each, and return their pods."""
    namespace.own_nodes(3, cpu=SIZE, labels=kubelet.LABELS)
    names = [f"low-{number}" for number in range(3)]
    for name in names:
        made = training.training(namespace, name, SIZE, BY_ANNOTATION)
        gang_manifests.create(namespace, *made)
    return {name: begun(namespace, kubelets, name, SIZE) for name in names}


def ends_well(
    namespace: Namespace,
    trainings: dict[str, dict[str, Manifest]],
    places: dict[str, str] | None,
) -> list[str]:
    """See two trainings evicted, those on the `places` if given, and saved; name them."""
    eventually(2 * SIZE, lambda: len(namespace.bound("urgent")))
    found = namespace.bound("urgent")
    assert places in (None, found)
    nodes = {
        name: {pod["spec"]["nodeName"] for pod in pods.values()} for name, pods in trainings.items()
    }
    victims = [name for name, own in nodes.items() if own <= set(found.values())]
    spared = trainings.keys() - set(victims)
    assert (2, 1) == (len(victims), len(spared))
    for name in spared:
        assert trainings[name].keys() == pods_of(namespace, name).keys()
    until(lambda: all(training.told(namespace, name)[0] for name in victims))
    for name in victims:
        assert training.is_as_if_never_evicted(*training.told(namespace, name))
    # The pods that were evicted are gone, and with them what they were asked.
    eventually({}, lambda: asked(namespace))
    eventually(set(), lambda: preemption.marked(namespace))
    return victims
