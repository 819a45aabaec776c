"""What objects say of the queue of their gang."""

import pytest

from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.refs import ChargedTo, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.workloads import jobs
from support import decoded as pod
from support.api_objects import pod_body
from support.call_counts import calls_of

OURS = "py-gang-scheduler.io/queue"
FLAVORS = "py-gang-scheduler.io/flavors"
KUEUE = "kueue.x-k8s.io/queue-name"
VOLCANO = "scheduling.volcano.sh/queue-name"
SHORT = "volcano.sh/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"

QUEUE = QueueName(QueueNameKind.QUEUE, "a")
LOCAL = QueueName(QueueNameKind.LOCAL_QUEUE, "a")
VOLCANOS = QueueName(QueueNameKind.VOLCANO_QUEUE, "a")


@pytest.mark.parametrize(
    ("labels", "annotations", "names"),
    [
        ({OURS: "a"}, {}, (QUEUE,)),
        ({KUEUE: "a"}, {}, (LOCAL,)),
        ({}, {KUEUE: "a"}, (LOCAL,)),
        ({KUEUE: "a"}, {KUEUE: "a"}, (LOCAL,)),
        ({VOLCANO: "a"}, {}, (VOLCANOS,)),
        ({SHORT: "a", VOLCANO: "a"}, {VOLCANO: "a"}, (VOLCANOS,)),
        ({KUEUE: "a", OURS: "a"}, {}, (QUEUE, LOCAL)),
        ({KUEUE: "a"}, {KUEUE: "b"}, (LOCAL, LOCAL._replace(name="b"))),
    ],
)
def test_every_name_is_read_once(
    labels: dict[str, str], annotations: dict[str, str], names: tuple[QueueName, ...]
) -> None:
    assert QueueRequest(names) == naming.request_of(labels, annotations)


@pytest.mark.parametrize(
    ("labels", "annotations"), [({}, {}), ({"app": "x"}, {}), ({OURS: ""}, {}), ({}, {OURS: "a"})]
)
def test_what_names_no_queue_says_nothing(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    assert naming.request_of(labels, annotations) is None


def test_a_class_of_priority_is_read_also_without_a_queue() -> None:
    assert QueueRequest((), "high") == naming.request_of({CLASS: "high"}, {})


def test_pods_that_say_the_same_share_it() -> None:
    one, other = (naming.request_of({OURS: "a"}, {}) for _ in range(2))

    assert one is other


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({OURS: "a"}, ChargedTo("a")),
        ({OURS: "a", FLAVORS: '{"cpu": "spot"}'}, ChargedTo("a", (("cpu", "spot"),))),
        ({FLAVORS: '{"memory": "x", "cpu": "y"}'}, ChargedTo("", (("cpu", "y"), ("memory", "x")))),
        ({OURS: "a", FLAVORS: "spot"}, ChargedTo("a")),
        ({OURS: "a", FLAVORS: '{"cpu": 1}'}, ChargedTo("a")),
        ({OURS: "a", FLAVORS: '{"cpu": "\ud800"}'}, ChargedTo("a")),
        ({"app": "x"}, None),
    ],
)
def test_what_a_binding_says_is_read(
    annotations: dict[str, str], expected: ChargedTo | None
) -> None:
    assert expected == naming.charged_to(annotations)


def test_a_pod_that_waits_must_name_our_queue_in_a_label() -> None:
    body = pod_body(metadata={"annotations": {OURS: "a"}})
    found = pod.pod(body)
    labelled = pod.pod(pod_body(metadata={"annotations": {OURS: "a"}, "labels": {OURS: "b"}}))
    bound = pod.pod(pod_body(metadata={"annotations": {OURS: "a"}}, nodeName="n1"))

    assert f"metadata.annotations[{OURS}] must be a label" in str(found.problem)
    assert [None, None] == [labelled.problem, bound.problem]


def test_a_pod_group_must_name_our_queue_in_a_label() -> None:
    metadata = {"name": "g", "namespace": "default", "uid": "u", "annotations": {OURS: "a"}}
    found = pod_groups.pod_group_object({"metadata": metadata, "spec": {"minMember": 1}})

    assert f"metadata.annotations[{OURS}] must be a label" in str(found.gang_specs[0].problem)


def test_a_pod_group_and_a_job_say_what_pods_say() -> None:
    metadata = {"name": "g", "namespace": "default", "uid": "u", "labels": {OURS: "a"}}
    template = {"metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}}, "spec": {}}
    group = pod_groups.pod_group_object({"metadata": metadata, "spec": {"minMember": 1}})
    native = pod_groups.native_pod_group_object({"metadata": metadata, "spec": {}})
    job = jobs.read({"metadata": metadata, "spec": {"template": template}})

    said = [each.gang_specs[0].queue_request for each in (group, native, job)]
    assert [QueueRequest((QUEUE,))] * 3 == said


def test_pods_without_a_queue_cost_three_calls() -> None:
    body = pod_body(metadata={"labels": {"app": "x"}})
    calls = calls_of(lambda: pod.pod(body))

    named = {name: number for name, number in calls.items() if name.startswith("naming.")}
    assert {"naming.request_of": 1, "naming.charged_to": 1, "naming.misplaced": 1} == named
