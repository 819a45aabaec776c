"""Objects get what an API server would have given them."""

import pytest

from gang_scheduler.decode.cluster import DeclaredBudget
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.reading import Loaded


def loaded(text: str) -> Objects:
    return objects.load(documents.parse("f", text), "ours")


def decoded_objects(text: str) -> list[object]:
    return [each.decoded for each in loaded(text).loaded]


def test_a_bare_pod_is_ours_and_has_an_identity() -> None:
    (pod,) = decoded_objects("{kind: Pod, apiVersion: v1, metadata: {name: a}}")

    expected = ("simulated-000000000001", "default", "a", "ours")
    assert isinstance(pod, Pod)
    assert expected == (pod.uid, pod.namespace, pod.name, pod.scheduler)


def test_what_is_given_is_kept() -> None:
    (pod,) = decoded_objects(
        "{kind: Pod, apiVersion: v1, spec: {schedulerName: other}, metadata: "
        "{name: a, namespace: team, uid: u, creationTimestamp: 1970-01-01T00:01:40Z}}"
    )

    assert isinstance(pod, Pod)
    assert ("u", "team", "other", 100) == (pod.uid, pod.namespace, pod.scheduler, pod.created_at)


def test_objects_keep_their_order_and_are_older_than_the_reading() -> None:
    found = loaded(
        "{kind: Pod, apiVersion: v1, metadata: {name: a}}\n---\n"
        "{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: g}}\n---\n"
        "{kind: Node, apiVersion: v1, metadata: {name: n}}\n"
    )

    assert [Pod, GangObject, Node] == [type(each.decoded) for each in found.loaded]
    assert 0 < created_at(found.loaded[0]) < created_at(found.loaded[1]) < found.read_at


def test_the_input_is_read_when_it_was_asked_for() -> None:
    text = "{kind: Pod, apiVersion: v1, metadata: {name: a}}"
    found = objects.load(documents.parse("f", text), "ours", at=1000)

    assert 1000 == found.read_at
    assert 999 < created_at(found.loaded[0]) < 1000


def created_at(loaded: Loaded) -> float:
    decoded = loaded.decoded
    if isinstance(decoded, GangObject):
        return decoded.gang_specs[0].created_at
    assert isinstance(decoded, Pod)
    return decoded.created_at


def test_what_has_a_time_is_older_than_what_has_none() -> None:
    found = loaded(
        "{kind: Pod, apiVersion: v1, metadata: {name: a}}\n---\n"
        "{kind: Pod, apiVersion: v1, metadata: "
        "{name: b, creationTimestamp: 1970-01-01T00:01:40Z}}\n"
    )

    assert created_at(found.loaded[0]) > created_at(found.loaded[1])


def test_uids_are_found_for_those_without_one_whatever_others_are_called() -> None:
    given = "00000000-0000-0000-0000-000000000002"
    found = loaded(
        "{kind: Pod, apiVersion: v1, metadata: {name: a}}\n---\n"
        "{kind: Pod, apiVersion: v1, metadata: {name: b}}\n---\n"
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: c, uid: {given}}}}}"
    )

    assert 3 == len({each.decoded.uid for each in found.loaded if isinstance(each.decoded, Pod)})


def test_a_generated_name_does_not_depend_on_what_is_skipped() -> None:
    skipped = "{kind: ConfigMap, apiVersion: v1, metadata: {name: x}}"
    found = loaded(f"{skipped}\n---\n{{kind: Pod, apiVersion: v1, metadata: {{generateName: a-}}}}")

    assert ["a-00001"] == [
        each.decoded.name for each in found.loaded if isinstance(each.decoded, Pod)
    ]


def test_what_is_left_out_is_noted() -> None:
    found = loaded(
        "{kind: Node, apiVersion: v1, metadata: {name: n}}\n---\n"
        "{kind: DaemonSet, apiVersion: apps/v1}\n"
    )

    expected = ("f: document 2: DaemonSet (apps/v1) is not needed; skipped",)
    assert expected == found.notes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1", "kind is required"),
        ("kind: Pod", "apiVersion is required"),
        ("{kind: 3, apiVersion: v1}", "kind must be a string, not 3"),
        ("{kind: Pod, apiVersion: v1}", "metadata.name is required"),
        ("{kind: Pod, apiVersion: v1, metadata: a}", 'metadata must be an object, not "a"'),
        (
            "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: 3}",
            "spec must be an object, not 3",
        ),
        ("{kind: Pod, apiVersion: apps/v1}", 'apiVersion must be v1 for a Pod, not "apps/v1"'),
        (
            (
                "{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, "
                "metadata: {name: a}, spec: {minMember: 1, minResources: {cpu: many}}}"
            ),
            'spec.minResources.cpu must be a quantity, not "many"',
        ),
        (
            (
                "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, "
                "metadata: {name: a}, value: high}"
            ),
            'value must be a whole number, not "high"',
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_field(text: str, problem: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded(text)

    assert (f"f: document 1: {problem}",) == caught.value.lines


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded("kind: 3\n---\nhello\n---\n{kind: Pod, apiVersion: v1}")

    assert 3 == len(caught.value.lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{kind: Job, apiVersion: batch/v1, metadata: {name: a}, spec: {parallelism: three}}",
            'spec.parallelism must be a whole number, not "three"',
        ),
        (
            (
                "{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata: {name: a}, "
                "spec: {replicatedJobs: {}}}"
            ),
            "spec.replicatedJobs must be a list, not {}",
        ),
    ],
)
def test_a_problem_of_a_workload_is_reported_once(text: str, problem: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded(text)

    assert (f"f: document 1: {problem}",) == caught.value.lines


def test_what_preemption_depends_on_is_read_as_on_a_cluster() -> None:
    (pod,) = decoded_objects(
        "{kind: Pod, apiVersion: v1, metadata: {name: a, deletionTimestamp: 1970-01-01T00:02:00Z}, "
        "spec: {preemptionPolicy: Never}, "
        "status: {nominatedNodeName: n1, startTime: 1970-01-01T00:01:40Z, conditions: ["
        '{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}]}}'
    )

    assert isinstance(pod, Pod)
    assert ("n1", False, True) == (pod.nominated, pod.preempts, pod.marked_as_victim)
    assert (100, 120) == (pod.started_at, pod.gone_by)


def test_the_reading_is_later_than_what_has_started() -> None:
    found = loaded(
        "{kind: Pod, apiVersion: v1, metadata: {name: a}, "
        "status: {startTime: 1970-01-01T00:01:40Z}}"
    )

    assert 101 == found.read_at


@pytest.mark.parametrize(
    "pod",
    [
        "metadata: {name: a, creationTimestamp: 1970-01-01T00:01:40Z}",
        "metadata: {name: a}, status: {startTime: 1970-01-01T00:01:40Z}",
        (
            "metadata: {name: a}, status: {conditions: "
            "[{type: PodScheduled, lastTransitionTime: 1970-01-01T00:01:40Z}]}"
        ),
        (
            "metadata: {name: a}, status: {containerStatuses: "
            "[{name: c, state: {terminated: {finishedAt: 1970-01-01T00:01:40Z}}}]}"
        ),
        "metadata: {name: a, deletionTimestamp: 1970-01-01T00:02:10Z}",
        (
            "metadata: {name: a, deletionTimestamp: 1970-01-01T00:01:45Z, "
            "deletionGracePeriodSeconds: 5}"
        ),
        (
            "metadata: {name: a, deletionTimestamp: 1970-01-01T00:02:40Z}, "
            "spec: {terminationGracePeriodSeconds: 60}"
        ),
    ],
)
@pytest.mark.parametrize("others", [0, 100])
def test_the_reading_follows_what_has_happened_and_not_how_much_there_is(
    pod: str, others: int
) -> None:
    spaces = (
        f"{{kind: Namespace, apiVersion: v1, metadata: {{name: x{i}}}}}\n---\n"
        for i in range(others)
    )

    assert 101 == loaded("".join(spaces) + f"{{kind: Pod, apiVersion: v1, {pod}}}").read_at


@pytest.mark.parametrize(
    ("status", "allowed"),
    [("{}", 0), ("{observedGeneration: 1, disruptionsAllowed: 2}", 2), ("null", None)],
)
def test_a_budget_without_a_status_is_left_to_be_counted(status: str, allowed: int | None) -> None:
    (budget,) = decoded_objects(
        "{kind: PodDisruptionBudget, apiVersion: policy/v1, "
        f"metadata: {{name: b, generation: 1}}, spec: {{selector: {{}}}}, status: {status}}}"
    )

    assert isinstance(budget, DeclaredBudget)
    assert ("default/b", allowed) == (budget.key, budget.allowed)


@pytest.mark.parametrize(
    ("spec", "preempts"),
    [
        ("priorityClassName: calm", False),
        ("{priorityClassName: calm, priority: 7}", False),
        ("{priorityClassName: calm, preemptionPolicy: PreemptLowerPriority}", True),
        ("priority: 7", True),
    ],
)
def test_a_priority_class_says_whether_its_pods_preempt(spec: str, preempts: bool) -> None:  # noqa: FBT001 - a row of a table.
    _, pod = decoded_objects(
        "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: calm}, value: 7, "
        "preemptionPolicy: Never}\n---\n"
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: a}}, spec: {{{spec.strip('{}')}}}}}"
    )

    assert isinstance(pod, Pod)
    assert (7, preempts) == (pod.priority, pod.preempts)


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha2"])
@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ("priorityClassName: high", 7),
        ("", 3),
        ("priority: 5", 5),
    ],
)
def test_a_native_pod_group_has_the_priority_of_its_class(
    version: str, spec: str, priority: int
) -> None:
    policy = "schedulingPolicy: {gang: {minCount: 1}}"
    *_, found = decoded_objects(
        "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: high}, value: 7}"
        "\n---\n{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: usual}, "
        "value: 3, globalDefault: true}\n---\n"
        f"{{kind: PodGroup, apiVersion: scheduling.k8s.io/{version}, metadata: {{name: g}}, "
        f"spec: {{{policy}, {spec}}}}}"
    )

    assert isinstance(found, GangObject)
    assert [priority] == [each.priority for each in found.gang_specs]


QUEUE = "apiVersion: py-gang-scheduler.io/v1alpha1\nkind: Queue\nmetadata: {name: a}\nspec: "


def test_fields_of_a_queue_without_effect_are_noted() -> None:
    found = loaded(QUEUE + "{borrowing: {maxBorrowRatio: 2}}")

    place = "f: document 1"
    why = "spec.borrowing.maxBorrowRatio has no effect while spec.borrowing.enabled is not true"
    assert (f"{place}: Queue a: {why}",) == found.notes


def test_queues_of_all_products_are_read_in_the_versions_that_are_served() -> None:
    kinds = (
        ("py-gang-scheduler.io/v1alpha1", "Queue"),
        ("py-gang-scheduler.io/v1alpha1", "ResourceFlavor"),
        ("kueue.x-k8s.io/v1beta1", "ClusterQueue"),
        ("kueue.x-k8s.io/v1alpha1", "Cohort"),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
        ("kueue.x-k8s.io/v1beta1", "ResourceFlavor"),
        ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"),
        ("kueue.x-k8s.io/v1beta1", "AdmissionCheck"),
        ("scheduling.volcano.sh/v1beta1", "Queue"),
    )
    one = "apiVersion: {}\nkind: {}\nmetadata: {{name: a}}\n"

    assert len(kinds) == len(decoded_objects("---\n".join(one.format(*each) for each in kinds)))
    with pytest.raises(UnreadableInput) as refused:
        loaded(one.format("kueue.x-k8s.io/v1", "ClusterQueue"))
    assert "apiVersion must be kueue.x-k8s.io/v1beta2 or kueue" in refused.value.lines[0]
