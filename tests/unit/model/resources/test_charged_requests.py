"""What a quota is charged for requests."""

from fractions import Fraction

import pytest

from gang_scheduler.model.queues import QueueSet
from gang_scheduler.model.resources import (
    ENORMOUS,
    MOST_QUOTA,
    RequestRules,
    Requests,
    Transformation,
)

MIG = "nvidia.com/mig-1g.5gb"


@pytest.mark.parametrize(
    ("rule", "requests", "expected"),
    [
        (None, (("cpu", 500), ("pods", 1)), (("cpu", 500), ("pods", 1))),
        (None, (("nvidia.com/gpu", 2),), (("gpu", 2), ("nvidia.com/gpu", 2))),
        ((MIG, "memory", 5, True), ((MIG, 2),), (("memory", 10),)),
        ((MIG, "memory", 5, False), ((MIG, 2),), (("memory", 10), (MIG, 2))),
        ((MIG, "nvidia.com/gpu", 1, True), ((MIG, 2),), (("gpu", 2), ("nvidia.com/gpu", 2))),
        (("cpu", "credits", 3, True), (("cpu", 500),), (("credits", 2),)),
        ((MIG, "gpu", Fraction(1, 2), True), ((MIG, 2),), (("gpu", 1),)),
        ((MIG, "gpu", Fraction(1, 2), True), ((MIG, 3),), (("gpu", 2),)),
    ],
)
def test_requests_are_transformed(
    rule: tuple[str, str, Fraction | int, bool] | None, requests: Requests, expected: Requests
) -> None:
    rules = {rule[0]: Transformation(((rule[1], rule[2]),), rule[3])} if rule else {}

    declared = QueueSet(request_rules=RequestRules(rules))

    assert dict(expected) == declared.charged(requests)


@pytest.mark.parametrize(
    ("requests", "replaces", "expected"),
    [
        ((("cores", 3), ("cpu", 1500)), True, {"credits": 12, "cpu": 1500}),
        ((("cores", 3), ("cpu", 1500)), False, {"credits": 12, "cores": 6, "cpu": 1500}),
        ((("cores", 3),), True, {"credits": 6}),
        ((("cpu", 1500),), True, {"cpu": 1500}),
    ],
)
def test_a_resource_may_be_multiplied_by_another(
    requests: Requests,
    replaces: bool,  # noqa: FBT001 - as the strategy says.
    expected: dict[str, int],
) -> None:
    rules = RequestRules({"cores": Transformation((("credits", 2),), replaces, "cpu")})

    assert expected == rules.charged(requests)


def test_resources_with_a_prefix_are_left_out() -> None:
    rules = RequestRules({}, ("example.com/", "pods"))

    found = rules.charged((("cpu", 1), ("example.com/x", 1), ("pods", 1)))

    assert {"cpu": 1} == found


def test_what_is_left_out_counts_as_nothing_else() -> None:
    rules = RequestRules({MIG: Transformation((("memory", 5),))}, ("nvidia.com/",))
    declared = QueueSet(request_rules=rules)

    assert {"cpu": 1} == declared.charged((("cpu", 1), (MIG, 1), ("nvidia.com/gpu", 1)))


def test_requests_are_charged_alike_in_the_same_set() -> None:
    declared, requests = QueueSet(), (("cpu", 1),)

    assert declared.charged(requests) is declared.charged(requests)


@pytest.mark.parametrize(
    ("requested", "charged"), [(ENORMOUS - 1, ENORMOUS - 1), (ENORMOUS, MOST_QUOTA)]
)
def test_a_request_that_was_cut_off_fills_the_largest_quota(requested: int, charged: int) -> None:
    found = QueueSet().charged((("example.net/token", requested),))

    assert {"example.net/token": charged} == found
