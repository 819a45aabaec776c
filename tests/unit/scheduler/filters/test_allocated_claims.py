"""A pod goes where the devices of its allocated claims can be used."""

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.device_needs import DeviceNeeds
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Requirement
from gang_scheduler.scheduler.filters import allocated_claims
from support.builders import node

NODES = NodeTable([node("n0"), node("n1", labels={"rack": "r"})])
ON_N1 = ((Requirement("metadata.name", Operator.IN, ("n1",), on_field=True),),)
IN_RACK = ((Requirement("rack", Operator.EXISTS),),)


def passes(devices: DeviceNeeds | None) -> list[bool]:
    return [bool(each) for each in allocated_claims.passes(PodClass(devices=devices), NODES)]


def test_a_pod_without_claims_may_go_anywhere() -> None:
    assert passes(None) == [True, True]
    assert passes(DeviceNeeds()) == [True, True]


def test_every_allocated_claim_must_reach_the_node() -> None:
    assert passes(DeviceNeeds(nodes=(ON_N1,))) == [False, True]
    assert passes(DeviceNeeds(nodes=(ON_N1, IN_RACK))) == [False, True]


def test_the_reason_counts_nodes() -> None:
    rejected = ~allocated_claims.passes(PodClass(devices=DeviceNeeds(nodes=(ON_N1,))), NODES)

    found = allocated_claims.reasons(PodClass(), NODES, rejected)

    assert found == {"node(s) cannot use the devices of the pod's allocated claims": 1}
