"""The claim for extended resources of a pod: as kube-scheduler makes it."""

import re

import pytest

from gang_scheduler.model.extended_resources import (
    ContainerRequest,
    RequestMapping,
    claim_name,
    is_extended,
    may_stand_for_devices,
    need_of,
    spec_of,
)

GPU = "nvidia.com/gpu"
CLASS = "gpu.nvidia.com"


def asked(container: str, index: int, number: int, *, ends: bool = False) -> ContainerRequest:
    return ContainerRequest(container, index, GPU, 1, number, ends=ends)


def requests(*containers: ContainerRequest) -> dict[str, int]:
    """Return the number of devices of each request."""
    found = need_of(GPU, CLASS, containers)
    assert found is not None
    assert {CLASS} == {each.device_class for one in found.requests for each in one.alternatives}
    return {each.name: each.alternatives[0].count for each in found.requests}


def mappings(*containers: ContainerRequest) -> list[tuple[str, str]]:
    found = need_of(GPU, CLASS, containers)
    assert found is not None
    assert {GPU} == {each.resource for each in found.mappings}
    return [(each.container, each.request) for each in found.mappings]


def test_each_container_has_a_request_of_its_own() -> None:
    containers = asked("a", 0, 2), asked("b", 1, 1)

    assert {"container-0-request-1": 2, "container-1-request-1": 1} == requests(*containers)
    assert [("a", "container-0-request-1"), ("b", "container-1-request-1")] == mappings(*containers)


def test_an_init_container_uses_the_devices_of_later_containers() -> None:
    containers = asked("init", 0, 2, ends=True), asked("a", 1, 2), asked("b", 2, 2)

    assert {"container-1-request-1": 2, "container-2-request-1": 2} == requests(*containers)
    assert ("init", "container-1-request-1") == mappings(*containers)[-1]


def test_the_init_container_that_lacks_most_gets_the_rest_for_all() -> None:
    first, second = asked("i", 0, 3, ends=True), asked("j", 1, 4, ends=True)
    containers = first, second, asked("a", 2, 2)

    assert {"container-1-request-1": 2, "container-2-request-1": 2} == requests(*containers)
    assert mappings(*containers) == [
        ("a", "container-2-request-1"),
        *[("i", "container-2-request-1"), ("i", "container-1-request-1")],
        *[("j", "container-2-request-1"), ("j", "container-1-request-1")],
    ]


def test_an_init_container_uses_no_devices_of_an_earlier_sidecar() -> None:
    containers = asked("sidecar", 0, 1), asked("init", 1, 1, ends=True)

    assert {"container-0-request-1": 1, "container-1-request-1": 1} == requests(*containers)


def test_containers_that_ask_for_none_need_none() -> None:
    assert need_of(GPU, CLASS, [asked("a", 0, 0)]) is None
    assert need_of("other.com/x", CLASS, [asked("a", 0, 1)]) is None


def test_the_requests_of_several_resources_are_in_the_order_of_their_names() -> None:
    one = ContainerRequest("a", 0, "x.com/b", 2, 1)
    other = ContainerRequest("a", 0, "x.com/a", 1, 1)
    needs = [need_of(each.resource, "c", [each]) for each in (one, other)]

    names = [each.name for each in spec_of(each for each in needs if each).requests]
    assert ["container-0-request-1", "container-0-request-2"] == names
    assert needs[0] is not None
    assert needs[0].mappings == (RequestMapping("a", "x.com/b", "container-0-request-2"),)


def test_a_pod_always_has_the_same_claim_and_another_pod_of_its_name_another_one() -> None:
    found = claim_name("train-0", "uid-1")

    assert re.fullmatch(r"train-0-extended-resources-[bcdfghjklmnpqrstvwxz2456789]{5}", found)
    assert found == claim_name("train-0", "uid-1")
    assert found != claim_name("train-0", "uid-2")
    assert 63 == len(claim_name("p" * 63, "uid-1"))


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu.example.com", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("attachable.kubernetes.io/x", False),
        ("requests.nvidia.com/gpu", False),
    ],
)
def test_only_extended_resources_stand_for_devices(resource: str, *, expected: bool) -> None:
    assert expected == may_stand_for_devices(resource)


def test_a_resource_that_names_a_device_class_is_no_extended_one() -> None:
    of_class = "deviceclass.resource.kubernetes.io/gpu.example.com"

    assert [True, False] == [is_extended(GPU), is_extended(of_class)]
