"""What a quota is charged for requests."""

import pytest

from gang_scheduler.state.queues.charged_requests import (
    ChargedRequests,
    RequestRules,
    Requests,
    Transformation,
)

GPUS = ("nvidia.com/gpu", "amd.com/gpu")
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
    ],
)
def test_requests_are_transformed(
    rule: tuple[str, str, int, bool] | None, requests: Requests, expected: Requests
) -> None:
    rules = {rule[0]: Transformation(((rule[1], rule[2]),), rule[3])} if rule else {}

    assert expected == ChargedRequests(RequestRules(rules)).of(requests, GPUS)


def test_resources_with_a_prefix_are_left_out() -> None:
    rules = RequestRules({}, ("example.com/", "pods"))

    found = ChargedRequests(rules).of((("cpu", 1), ("example.com/x", 1), ("pods", 1)), GPUS)

    assert (("cpu", 1),) == found
