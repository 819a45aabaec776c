"""What a pod uses, case by case as component-helpers' `resource.PodRequests` counts it."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster, fields
from gang_scheduler.decode.pods.pod_class import ADDED, pod_requests, unasked
from gang_scheduler.wire import pods as pod_wire
from support.api_objects import container, node_body, pod_body


def requests(*containers: Any, **others: Any) -> dict[str, int]:
    body = pod_body(containers=containers, **others)
    return pod_requests(fields.read(body, pod_wire.Pod))


def cpu(*containers: Any, **others: Any) -> int:
    return requests(*containers, **others).get("cpu", 0)


def cpu_on_node(*containers: Any, **others: Any) -> int:
    return cpu(*containers, nodeName="n1", **others)


def of(amount: str, name: str = "main", **others: Any) -> dict[str, Any]:
    return container(name, requests={"cpu": amount}, **others)


def sidecar(amount: str, name: str) -> dict[str, Any]:
    return of(amount, name, restartPolicy="Always")


def statuses(**of_main: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "main", **of_main}]}


INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def test_containers_add_up_and_the_pod_counts_as_one() -> None:
    first = container("a", requests={"cpu": "1500m", "memory": "1Gi"})
    second = container("b", requests={"cpu": "1", "nvidia.com/gpu": 2})

    expected = {"cpu": 2500, "memory": 2**30, "nvidia.com/gpu": 2, "pods": 1}
    assert expected == requests(first, second)


def test_a_pod_that_asks_for_nothing_is_still_a_pod() -> None:
    assert {"pods": 1} == requests(container())


def test_a_request_that_is_missing_is_the_limit() -> None:
    found = requests(container(requests={"cpu": "1"}, limits={"cpu": "4", "memory": "2Gi"}))

    assert {"cpu": 1000, "memory": 2 * 2**30, "pods": 1} == found


@pytest.mark.parametrize(("init", "expected"), [("1", 2000), ("2", 2000), ("5", 5000)])
def test_the_largest_init_container_counts_if_it_is_larger(init: str, expected: int) -> None:
    assert expected == cpu(of("1"), of("1", "b"), initContainers=[of("500m", "i"), of(init, "j")])


def test_init_containers_count_resource_by_resource() -> None:
    init = [container("i", requests={"cpu": "8"}), container("j", requests={"memory": 9})]

    found = requests(container(requests={"cpu": "1", "memory": 10}), initContainers=init)

    assert {"cpu": 8000, "memory": 10, "pods": 1} == found


def test_a_sidecar_runs_beside_the_containers() -> None:
    assert 3000 == cpu(of("1"), initContainers=[sidecar("2", "s")])


def test_a_sidecar_runs_beside_the_init_containers_after_it() -> None:
    init = [sidecar("2", "s"), of("4", "i")]

    assert 6000 == cpu(of("1"), initContainers=init)


def test_a_sidecar_does_not_run_beside_the_init_containers_before_it() -> None:
    init = [of("4", "i"), sidecar("2", "s")]

    assert 4000 == cpu(of("1"), initContainers=init)


def test_sidecars_add_up_as_they_start() -> None:
    init = [sidecar("1", "s"), of("5", "i"), sidecar("2", "t"), of("4", "j")]

    # s with i: 6; s and t with j: 7; s and t with the container: 4.
    assert 7000 == cpu(of("1"), initContainers=init)


def test_overhead_is_added_to_everything() -> None:
    found = requests(
        of("1"), initContainers=[of("3", "i")], overhead={"cpu": "250m", "memory": "64Mi"}
    )

    assert {"cpu": 3250, "memory": 64 * 2**20, "pods": 1} == found


def test_pod_level_requests_replace_those_of_the_containers() -> None:
    found = requests(
        container(requests={"cpu": "1", "memory": 5, "nvidia.com/gpu": 1}),
        initContainers=[of("9", "i")],
        resources={"requests": {"cpu": "4"}},
        overhead={"cpu": "1"},
    )

    assert {"cpu": 5000, "memory": 5, "nvidia.com/gpu": 1, "pods": 1} == found


def test_pod_level_requests_may_be_smaller_too() -> None:
    assert 2000 == cpu(of("4"), resources={"requests": {"cpu": "2"}})


def test_pod_level_limits_count_where_no_container_requests() -> None:
    assert 4000 == cpu(container(), resources={"limits": {"cpu": "4"}})


def test_a_resize_upwards_counts_before_it_has_happened() -> None:
    status = statuses(resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "1"})

    assert 3000 == cpu_on_node(of("3"), status=status)


def test_a_resize_downwards_counts_when_it_has_happened() -> None:
    still_in_use = statuses(resources={"requests": {"cpu": "3"}}, allocatedResources={"cpu": "1"})
    done = statuses(resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "1"})

    assert (3000, 1000) == (
        cpu_on_node(of("1"), status=still_in_use),
        cpu_on_node(of("1"), status=done),
    )


def test_what_was_allocated_counts_before_it_is_in_use() -> None:
    status = statuses(resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "4"})

    assert 4000 == cpu_on_node(of("2"), status=status)


def test_a_resize_that_can_never_happen_does_not_count() -> None:
    status = statuses(resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "2"})

    assert 2000 == cpu_on_node(of("9"), status={**status, "conditions": [INFEASIBLE]})


def test_a_resize_that_is_deferred_counts() -> None:
    status = statuses(resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "2"})

    assert 9000 == cpu_on_node(of("9"), status={**status, "conditions": [DEFERRED]})


def test_what_was_allocated_is_in_use_where_no_status_says_more() -> None:
    assert 9000 == cpu_on_node(of("2"), status=statuses(allocatedResources={"cpu": "9"}))


def test_a_status_says_nothing_of_a_pod_that_has_no_node() -> None:
    assert 2000 == cpu(of("2"), status=statuses(allocatedResources={"cpu": "9"}))


def test_one_container_may_shrink_before_the_other_grows() -> None:
    status = {
        "containerStatuses": [
            {
                "name": "a",
                "resources": {"requests": {"cpu": "3"}},
                "allocatedResources": {"cpu": "1"},
            },
            {
                "name": "b",
                "resources": {"requests": {"cpu": "1"}},
                "allocatedResources": {"cpu": "3"},
            },
        ]
    }

    # Not 6: kube-scheduler adds up what is used, and what was allocated, each for itself.
    assert 4000 == cpu_on_node(of("1", "a"), of("3", "b"), status=status)


def test_an_init_container_is_resized_too() -> None:
    init_status = {"name": "i", "allocatedResources": {"cpu": "4"}}

    found = cpu_on_node(
        of("1"), initContainers=[of("2", "i")], status={"initContainerStatuses": [init_status]}
    )

    assert 4000 == found


def test_the_resources_of_a_whole_pod_are_resized() -> None:
    growing = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}

    assert 3000 == cpu_on_node(of("1"), resources={"requests": {"cpu": "2"}}, status=growing)


def test_a_resize_of_a_whole_pod_that_can_never_happen_does_not_count() -> None:
    status = {"resources": {"requests": {"cpu": "2"}}, "conditions": [INFEASIBLE]}

    found = cpu_on_node(of("1"), resources={"requests": {"cpu": "9"}}, status=status)

    assert 2000 == found


def test_what_a_whole_pod_uses_is_that_of_its_containers() -> None:
    status = {
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "1"},
        "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "9"}}}],
    }

    assert 2000 == cpu_on_node(of("1"), status=status)


def test_a_sidecar_is_resized_like_a_container() -> None:
    init_status = {"name": "s", "resources": {"requests": {"cpu": "4"}}}

    found = cpu_on_node(
        of("1"),
        initContainers=[sidecar("2", "s")],
        status={"initContainerStatuses": [init_status]},
    )

    assert 5000 == found


@pytest.mark.parametrize(
    ("others", "field", "value", "problem"),
    [
        ({"overhead": {"cpu": "much"}}, "spec.overhead.cpu", "much", "must be a quantity"),
        ({"overhead": {"memory": "-1"}}, "spec.overhead.memory", "-1", "must be at least 0"),
        (
            {"resources": {"requests": {"cpu": "8EiB"}}},
            "spec.resources.requests.cpu",
            "8EiB",
            "must be a quantity",
        ),
        (
            {"initContainers": [container("i", requests={"nvidia.com/gpu": "1GB"})]},
            "spec.initContainers[0].resources.requests.nvidia.com/gpu",
            "1GB",
            "must be a quantity",
        ),
    ],
)
def test_nonsense_is_named_with_field_and_value(
    others: dict[str, Any], field: str, value: str, problem: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        requests(container(), **others)

    found = (caught.value.field, caught.value.value, caught.value.problem)
    assert (field, value, problem) == found


def test_nonsense_in_a_container_is_named_with_its_place() -> None:
    with pytest.raises(InvalidField) as caught:
        requests(container("a"), container("b", limits={"memory": "2GB"}))

    assert "spec.containers[1].resources.requests.memory" == caught.value.field


def test_nonsense_of_a_node_is_named_too() -> None:
    with pytest.raises(InvalidField) as caught:
        cluster.read_node(node_body(allocatable={"cpu": "many"}))

    assert ("status.allocatable.cpu", "many") == (caught.value.field, caught.value.value)


def added(name: str, **more: str) -> dict[str, Any]:
    return container(name, requests={**ADDED[name], **more})


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({}, set()),
        ({"initContainers": [added("init-pytorch")]}, {"memory"}),
        ({"initContainers": [added("wait-gcs-ready")]}, {"memory"}),
        ({"initContainers": [added("kubectl-delivery")]}, {"memory", "ephemeral-storage"}),
        ({"containers": [of("1"), added("autoscaler")]}, {"memory"}),
        ({"containers": [of("1"), added("ray-job-submitter")]}, {"memory"}),
        ({"initContainers": [added("init-pytorch", memory="11Mi")]}, set()),
        ({"initContainers": [added("init-pytorch", **{"nvidia.com/gpu": "1"})]}, set()),
        ({"initContainers": [container("mine", requests={"memory": "1Mi"})]}, set()),
        ({"initContainers": [added("init-pytorch")], "overhead": {"memory": "1Mi"}}, set()),
        (
            {"initContainers": [added("init-pytorch")], "resources": {"limits": {"memory": "1Gi"}}},
            set(),
        ),
        (
            {
                "containers": [container("main", requests={"memory": "1Gi"})],
                "initContainers": [added("init-pytorch")],
            },
            {"cpu"},
        ),
    ],
)
def test_what_only_containers_of_operators_ask_for(pod: dict[str, Any], expected: set[str]) -> None:
    body = pod_body(**{"containers": [of("1")], **pod})

    assert expected == unasked(fields.read(body, pod_wire.Pod))
