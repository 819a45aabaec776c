"""The life of gangs of native PodGroups."""

from typing import Any

import pytest

from support.in_memory_cluster import InMemoryCluster, native_body


def native_pods(
    cluster: InMemoryCluster, names: list[str], group: str = "g", priority: int = 0, **spec: Any
) -> None:
    named = {"schedulingGroup": {"podGroupName": group}}
    for name in names:
        cluster.pod(name, spec={**named, "priority": priority, **spec})


def test_row_native_min_count_is_the_quorum() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 2))
    native_pods(cluster, ["p-0"])
    before = cluster.bound()
    native_pods(cluster, ["p-1"])

    assert (set(), {"p-0", "p-1"}) == (before, cluster.bound())


def test_row_native_basic_makes_gangs_of_one() -> None:
    cluster = InMemoryCluster(1)
    cluster.put(native_body("g", None))
    native_pods(cluster, ["p-0", "p-1", "p-2"])

    assert {"p-0"} == cluster.bound()


def test_row_native_a_pod_group_that_does_not_exist_is_waited_for() -> None:
    cluster = InMemoryCluster()
    native_pods(cluster, ["p-0"])
    before = cluster.waits("g")
    cluster.put(native_body("g", 1))

    assert ("PodGroupNotFound", 'PodGroup "default/g" does not exist') == before
    assert {"p-0"} == cluster.bound()


@pytest.mark.parametrize("of_pod", [0, 20], ids=["lower", "higher"])
def test_row_native_members_of_another_priority_than_the_pod_groups_wait(of_pod: int) -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, priority=10))
    native_pods(cluster, ["p-0"], priority=of_pod)

    message = (
        f"pod default/p-0 has priority {of_pod}, and spec.priority of its PodGroup is 10: both "
        "must have one PriorityClass"
    )
    assert ("InvalidSpec", message) == cluster.waits("g")


@pytest.mark.parametrize(
    ("of_group", "of_pod"),
    [("Never", "PreemptLowerPriority"), ("PreemptLowerPriority", "Never")],
)
def test_row_native_members_of_another_preemption_policy_than_the_pod_groups_wait(
    of_group: str, of_pod: str
) -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, preemptionPolicy=of_group))
    native_pods(cluster, ["p-0"], preemptionPolicy=of_pod)

    message = (
        f"pod default/p-0 has preemptionPolicy {of_pod}, and spec.preemptionPolicy of its PodGroup "
        f"is {of_group}: both must have one PriorityClass"
    )
    assert ("InvalidSpec", message) == cluster.waits("g")


@pytest.mark.parametrize("policy", ["Never", "PreemptLowerPriority"])
def test_row_native_members_of_the_preemption_policy_of_their_pod_group_start(policy: str) -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, preemptionPolicy=policy))
    native_pods(cluster, ["p-0"], preemptionPolicy=policy)

    assert {"p-0"} == cluster.bound()


def test_row_native_a_preemption_policy_that_is_none_is_said() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, preemptionPolicy="Sometimes"))
    native_pods(cluster, ["p-0"])

    message = 'spec.preemptionPolicy must be PreemptLowerPriority or Never, not "Sometimes"'
    assert ("InvalidSpec", message) == cluster.waits("g")


def test_row_native_the_priority_of_both_orders_the_gang() -> None:
    cluster = InMemoryCluster(1)
    cluster.put(native_body("g", 1, priority=10))
    native_pods(cluster, ["p-0"], priority=10)
    cluster.pod("other", spec={"priority": 5})

    assert {"p-0"} == cluster.bound()


@pytest.mark.parametrize(("of_group", "of_pods"), [(1000, 0), (0, 1000)])
def test_row_native_a_pod_group_keeps_no_pods_from_being_victims(
    of_group: int, of_pods: int
) -> None:
    cluster = InMemoryCluster(2)
    cluster.put(native_body("g", 2))
    native_pods(cluster, ["p-0", "p-1"], priority=of_pods)
    before = cluster.bound()
    # A PodGroup that is deleted and made again has the priority that its maker likes.
    cluster.put(native_body("g", 2, priority=of_group))
    cluster.pod("other", spec={"priority": 500})

    (preemption,) = cluster.cycle().preemptions
    assert before == {each.pod.name for each in preemption.victims} == {"p-0", "p-1"}


def test_row_native_another_pod_group_of_that_name_is_another_gang() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1))
    cluster.gang("g", 1)
    native_pods(cluster, ["p-0"])

    assert {"g-0", "p-0"} == cluster.bound()


def test_of_several_versions_the_best_counts_until_a_source_starts_over() -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1))
    other = {**native_body("h", 1), "apiVersion": "scheduling.k8s.io/v1alpha2"}
    native_pods(cluster, ["p-0"], group="h")
    cluster.put(other)
    ignored = cluster.bound()
    cluster.event_handlers.start_over()
    cluster.put(other)

    assert (set(), {"p-0"}) == (ignored, cluster.bound())


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {"schedulingConstraints": {"claims": [{"name": "gpus"}]}},
            "spec.schedulingConstraints.claims",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "row", "skew": 1}]}},
            "spec.schedulingConstraints.topology[1].skew",
        ),
        ({"parentCompositePodGroupName": "all"}, "spec.parentCompositePodGroupName"),
    ],
)
def test_row_native_what_is_not_known_is_refused_and_not_ignored(
    spec: dict[str, Any], field: str
) -> None:
    cluster = InMemoryCluster()
    cluster.put(native_body("g", 1, **spec))
    native_pods(cluster, ["p-0"])

    expected = f"{field} cannot be honoured by this scheduler yet"
    assert ("UnsupportedFeature", expected) == cluster.waits("g")
