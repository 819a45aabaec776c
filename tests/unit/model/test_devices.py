"""The small rules that objects of devices have of their own."""

import pytest

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import (
    Attribute,
    AttributeKind,
    ClaimTemplate,
    Constraint,
    Consumer,
    DeviceId,
    DeviceResult,
    DeviceTaint,
    DeviceToleration,
    NodeView,
    Owner,
    Reach,
    Request,
    SubRequest,
    TaintRule,
)
from gang_scheduler.model.selectors import Requirement, matches_any_term

TAINT = DeviceTaint("health", "bad", "NoSchedule")


@pytest.mark.parametrize(
    "toleration",
    [
        DeviceToleration("health", "Equal", "bad", "NoSchedule"),
        DeviceToleration("health", "Exists"),
        DeviceToleration(operator="Exists"),
        DeviceToleration("health", value="bad"),
    ],
)
def test_a_toleration_matches_a_taint(toleration: DeviceToleration) -> None:
    assert toleration.tolerates(TAINT)


@pytest.mark.parametrize(
    "toleration",
    [
        DeviceToleration("health", "Equal", "good"),
        DeviceToleration("other", "Exists"),
        DeviceToleration("health", "Exists", effect="NoExecute"),
        DeviceToleration("health", "Matches", "bad"),
    ],
)
def test_a_toleration_leaves_another_taint(toleration: DeviceToleration) -> None:
    assert not toleration.tolerates(TAINT)


def test_a_taint_is_written_as_kubectl_writes_it() -> None:
    assert "health=bad:NoSchedule" == str(TAINT)
    assert "gone:NoExecute" == str(DeviceTaint("gone", effect="NoExecute"))


def test_values_of_different_types_are_never_equal() -> None:
    assert Attribute(AttributeKind.INT, 1) != Attribute(AttributeKind.BOOL, value=True)


def test_an_alternative_is_named_by_its_request_and_itself() -> None:
    small = SubRequest("small", "gpu")

    assert "gpu/small" == Request("gpu", (small,), is_prioritized=True).name_of(small)
    assert "gpu" == Request("gpu", (SubRequest("gpu", "gpu"),)).name_of(SubRequest("gpu", "gpu"))


@pytest.mark.parametrize(
    ("named", "applies"), [((), True), (("gpu",), True), (("gpu/small",), True), (("nic",), False)]
)
def test_a_constraint_names_requests_or_alternatives(
    named: tuple[str, ...], *, applies: bool
) -> None:
    small = SubRequest("small", "gpu")
    request = Request("gpu", (small,), is_prioritized=True)

    assert applies == Constraint(named, match_attribute="a/b").applies_to(request, small)


def test_a_rule_without_a_selector_taints_nothing_and_an_empty_one_taints_all() -> None:
    device = DeviceId("gpu.example.com", "n0", "gpu-0")

    assert not TaintRule("r", TAINT, selects=False).matches(device)
    assert TaintRule("r", TAINT).matches(device)
    assert TaintRule("r", TAINT, pool="n0").matches(device)
    assert not TaintRule("r", TAINT, device="gpu-1").matches(device)


def test_a_claim_of_a_template_has_its_requests_and_its_owner() -> None:
    request = Request("gpu", (SubRequest("gpu", "gpu"),))
    owner = Owner("v1", "Pod", "g-0", "u")

    claim = ClaimTemplate("default", "t", (request,)).claim("g-0-gpu", owner)

    assert ("default/g-0-gpu", owner, (request,)) == (claim.key, claim.owner, claim.requests)


def test_only_a_pod_of_the_core_group_is_a_pod() -> None:
    assert Consumer("", "pods", "g-0", "u").is_pod
    assert not Consumer("scheduling.k8s.io", "podgroups", "g", "u").is_pod


def test_a_slice_that_names_no_node_in_any_way_is_unknown() -> None:
    assert not Reach().is_known
    assert Reach(node_selector=()).is_known
    assert Reach(all_nodes=True).is_known


def test_a_result_names_its_device() -> None:
    assert "d/p/x" == str(DeviceResult("r", "d", "p", "x").id)


NODE = NodeView("n0", {"rack": "r1", "cores": "16"})


def labelled(key: str, operator: Operator, *values: str) -> Reach:
    return Reach(node_selector=((Requirement(key, operator, values),),))


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (Reach("n0"), True),
        (Reach("n1"), False),
        (Reach("n1", all_nodes=True), False),
        (Reach(all_nodes=True), True),
        (Reach(), False),
        (labelled("rack", Operator.IN, "r1", "r2"), True),
        (labelled("rack", Operator.NOT_IN, "r1"), False),
        (labelled("zone", Operator.NOT_IN, "a"), True),
        (labelled("zone", Operator.EXISTS), False),
        (labelled("zone", Operator.DOES_NOT_EXIST), True),
        (labelled("cores", Operator.GT, "8"), True),
        (labelled("cores", Operator.LT, "8"), False),
        (labelled("rack", Operator.GT, "8"), False),
        (labelled("cores", Operator.GT, "many"), False),
        (labelled("cores", Operator.GT, "99999999999999999999"), False),
    ],
)
def test_a_node_is_reached_by_the_first_way_that_is_set(reach: Reach, *, expected: bool) -> None:
    assert expected == reach.reaches(NODE)


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    named = (Requirement("metadata.name", Operator.IN, ("n0",), on_field=True),)

    assert matches_any_term(((), named), NODE.name, NODE.labels)
    assert not matches_any_term(((),), NODE.name, NODE.labels)
    assert not matches_any_term((), NODE.name, NODE.labels)
