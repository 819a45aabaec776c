"""Which gang a pod says it belongs to."""

import pytest

from gang_scheduler.model.api_words import GangKind
from gang_scheduler.model.refs import GangKey
from gang_scheduler.workloads import table
from support.builders import pod

OURS = "pod-group.scheduling.sigs.k8s.io"
THEIRS = "scheduling.x-k8s.io/pod-group"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({OURS: "a"}, GangKey("PodGroup", "team", "a")),
        ({THEIRS: "b"}, GangKey("PodGroup", "team", "b")),
        ({THEIRS: "b", OURS: "a"}, GangKey("PodGroup", "team", "a")),
        ({THEIRS: "b", OURS: ""}, GangKey("PodGroup", "team", "b")),
        ({OURS: ""}, GangKey("Pod", "team", "p")),
        ({"app": "a"}, GangKey("Pod", "team", "p")),
    ],
)
def test_the_first_source_that_names_a_gang_wins(labels: dict[str, str], expected: GangKey) -> None:
    assert expected == pod("p", namespace="team", labels=labels).gang


def test_a_pod_alone_and_a_pod_group_of_its_name_are_two_gangs() -> None:
    alone, member = pod("a"), pod("x", gang="a")

    assert alone.gang != member.gang


def test_which_gangs_must_be_described_by_which_kind_of_object() -> None:
    assert {
        "scheduling.k8s.io": "PodGroup",
        "PodGroup": "PodGroup",
        "annotation": "",
        "VolcanoPodGroup": "PodGroup",
        "JobSet": "JobSet",
        "TrainJob": "JobSet",
        "LeaderWorkerSet": "",
        "PyTorchJob": "PyTorchJob",
        "TFJob": "TFJob",
        "XGBoostJob": "XGBoostJob",
        "PaddleJob": "PaddleJob",
        "JAXJob": "JAXJob",
        "MPIJob": "MPIJob",
        "RayCluster": "RayCluster",
        "KueuePodGroup": "",
        "SparkApplication": "",
        "StatefulSet": "StatefulSet",
        "Job": "Job",
        "RayJob": "RayJob",
        "Pod": "",
    } == {name: rule.object_kind for name, rule in table.BY_NAME.items()}


def test_the_setting_knows_all_kinds_that_need_no_label() -> None:
    assert set(table.BY_DEFAULT) == set(GangKind)


ANNOTATED = {"gang.scheduling.koordinator.sh/name": "annotated"}
LABEL_FORM = {"pod-group.scheduling.sigs.k8s.io/name": "light"}
JOB_SET = {
    "jobset.sigs.k8s.io/jobset-name": "set",
    "jobset.sigs.k8s.io/replicatedjob-name": "workers",
}
ASKS = {"py-gang-scheduler.io/gang": "true"}


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (0, ("scheduling.k8s.io", "native")),
        (1, ("PodGroup", "ours")),
        (2, ("PodGroup", "theirs")),
        (3, ("annotation", "annotated")),
        (4, ("annotation", "light")),
        (5, ("JobSet", "set/workers")),
        (6, ("Job", "job")),
        (7, ("Pod", "p")),
    ],
    ids=[
        "row 1 native",
        "row 2 PodGroup label",
        "row 2 other spelling",
        "row 3 annotations",
        "row 3 label form",
        "row 4 JobSet",
        "row 4 Job",
        "no gang",
    ],
)
def test_sources_in_their_order(left_out: int, expected: tuple[str, str]) -> None:
    """A pod that names a gang in every way; one way less from row to row."""
    labels = [{}, {OURS: "ours"}, {THEIRS: "theirs"}, {}, LABEL_FORM, JOB_SET, {}]
    whole = pod(
        "p",
        scheduling_group="native" if left_out < 1 else "",
        labels={**{k: v for each in labels[left_out:] for k, v in each.items()}, **ASKS},
        annotations=ANNOTATED if left_out < 4 else {},
        job="job" if left_out < 7 else "",
    )

    assert GangKey(expected[0], "default", expected[1]) == whole.gang


def test_a_pod_of_a_job_that_does_not_ask_for_a_gang_is_alone() -> None:
    assert "Pod" == pod("p", job="job").gang.source
    assert "Pod" == pod("p", job="job", labels=JOB_SET).gang.source
    no = {"py-gang-scheduler.io/gang": "false"}
    assert "Pod" == pod("p", job="job", labels=no).gang.source


@pytest.mark.parametrize(
    "key",
    [
        "gang.scheduling.koordinator.sh/network-topology-spec",
        "kueue.x-k8s.io/podset-required-topology",
        "kueue.x-k8s.io/podset-unconstrained-topology",
        "kueue.x-k8s.io/podset-slice-size",
        "kueue.x-k8s.io/podset-group-name",
    ],
)
def test_a_pod_of_a_job_that_asks_for_a_topology_is_one_of_a_gang(key: str) -> None:
    assert "Job" == pod("p", job="job", annotations={key: "x"}).gang.source


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("gang.scheduling.koordinator.sh/network-topology-index", "1"),
        ("kueue.x-k8s.io/queue-name", "q"),
        ("kueue.x-k8s.io/podset", "main"),
        ("kueue.x-k8s.io/podset-unconstrained-topology", "false"),
    ],
)
def test_a_pod_of_a_job_that_does_not_ask_for_a_topology_is_alone(key: str, text: str) -> None:
    assert "Pod" == pod("p", job="job", annotations={key: text}).gang.source
