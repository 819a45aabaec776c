"""Which workloads go as a whole."""

from collections.abc import Iterable

from gang_scheduler.apply.preemption_run import Step
from gang_scheduler.apply.workloads import whole_workloads
from gang_scheduler.apply.workloads.whole_workloads import WholeWorkloads
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.refs import PodRef
from gang_scheduler.model.suspended import ManagedWorkload
from support.builders import pod

TRAIN = ManagedWorkload("Job", "default", "train", "u1")
OTHER = ManagedWorkload("Job", "default", "other", "u2")


class Managed:
    """Workloads by the beginnings of the names of their pods."""

    def __init__(self, *pods: Pod) -> None:
        self._pods = pods

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the workload of a pod."""
        named = {each.name: each for each in (TRAIN, OTHER)}
        return named.get(pod.name.partition("-")[0])

    def pods_of(self, workload: ManagedWorkload) -> Iterable[Pod]:
        """Return the pods of a workload."""
        return [pod for pod in self._pods if self.workload_of(pod) == workload]


def among(victims: list[Pod], *others: Pod) -> list[tuple[ManagedWorkload, list[str]]]:
    found = whole_workloads.among(victims, Managed(*victims, *others))
    return [(workload, [pod.name for pod in pods]) for workload, pods in found]


def test_a_workload_that_loses_all_of_its_pods_goes_whole() -> None:
    victims = [pod(name, node="n1") for name in ("train-0", "alone", "other-0", "train-1")]

    assert [(TRAIN, ["train-0", "train-1"]), (OTHER, ["other-0"])] == among(victims)


def test_a_workload_that_keeps_a_pod_loses_the_others_one_by_one() -> None:
    assert [] == among([pod("train-0", node="n1")], pod("train-1", node="n1"))


def test_pods_without_room_keep_no_workload_alive() -> None:
    gone = pod("train-2", node="n1", phase=PodPhase.SUCCEEDED)

    assert [(TRAIN, ["train-0"])] == among([pod("train-0", node="n1")], pod("train-1"), gone)


def test_without_managed_workloads_each_pod_is_by_itself() -> None:
    victims = [pod("train-0", node="n1")]

    assert [] == list(whole_workloads.among(victims, whole_workloads.NONE_MANAGED))
    assert [] == list(whole_workloads.NONE_MANAGED.pods_of(TRAIN))


async def suspend(_: ManagedWorkload) -> bool:
    """Suspend any workload."""
    return True


async def delete(_: PodRef) -> None:
    """Delete any pod."""


def test_one_step_stands_for_all_pods_of_a_workload() -> None:
    victims = [pod(name, node="n1") for name in ("train-0", "alone", "train-1")]
    whole = WholeWorkloads(Managed(*victims), suspend, lambda each: Step("evict", each, delete))
    begun: set[str] = set()

    (step,) = whole.suspensions(victims, begun)

    assert ("suspend", "train-0") == (step.what, step.pod.name)
    assert {"uid-train-1"} == step.also_ended
    assert step.final
    assert begun is step.begun
