"""ProvisioningRequests of ours, and Kueue's configuration of them."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import provisioning
from gang_scheduler.model.provisioning import ProvisioningRequest, RequestState
from gang_scheduler.model.queues import ProvisioningRules, Retry
from gang_scheduler.model.refs import GangKey

KEY = GangKey("PodGroup", "ns", "a")
AT = "2026-01-01T00:00:00Z"
ANNOTATIONS = {
    "py-gang-scheduler.io/provisioned-gang": "PodGroup/a",
    "py-gang-scheduler.io/provisioned-gang-uid": "u",
    "py-gang-scheduler.io/provisioning-digest": "d",
    "py-gang-scheduler.io/provisioning-attempt": "2",
}


def body(*conditions: tuple[str, str, str], **metadata: Any) -> dict[str, Any]:
    """Return a request of ours with these types, statuses and messages of conditions."""
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "metadata": {
            "name": "pgs-1",
            "namespace": "ns",
            "uid": "of-request",
            "labels": {"app.kubernetes.io/managed-by": "py-gang-scheduler"},
            "annotations": ANNOTATIONS,
            **metadata,
        },
        "spec": {
            "provisioningClassName": "class",
            "podSets": [{"podTemplateRef": {"name": "pgs-1-0"}, "count": 2}],
        },
        "status": {
            "conditions": [
                {"type": t, "status": s, "message": m, "lastTransitionTime": AT}
                for t, s, m in conditions
            ]
        },
    }


def test_a_request_of_ours_says_which_gang_it_is_for() -> None:
    assert ProvisioningRequest(
        namespace="ns",
        name="pgs-1",
        gang=KEY,
        gang_uid="u",
        digest="d",
        attempt=2,
        class_name="class",
        uid="of-request",
        api_version="autoscaling.x-k8s.io/v1",
        templates=("pgs-1-0",),
    ) == provisioning.request(body())


@pytest.mark.parametrize(
    ("conditions", "state", "message"),
    [
        ([], RequestState.ASKED, ""),
        ([("Accepted", "False", "no")], RequestState.ASKED, ""),
        ([("Accepted", "True", "yes")], RequestState.ACCEPTED, "yes"),
        (
            [("Accepted", "True", "yes"), ("Provisioned", "False", "soon")],
            RequestState.ACCEPTED,
            "soon",
        ),
        ([("Accepted", "True", ""), ("Provisioned", "True", "x")], RequestState.PROVISIONED, "x"),
        ([("Provisioned", "True", ""), ("BookingExpired", "True", "x")], RequestState.EXPIRED, "x"),
        (
            [("Provisioned", "True", ""), ("CapacityRevoked", "True", "x")],
            RequestState.REVOKED,
            "x",
        ),
        ([("Accepted", "True", ""), ("Failed", "True", "x")], RequestState.FAILED, "x"),
    ],
)
def test_what_came_of_a_request_is_its_most_telling_condition(
    conditions: list[tuple[str, str, str]], state: RequestState, message: str
) -> None:
    found = provisioning.request(body(*conditions))

    assert (state, message) == (found.state, found.message)
    assert found.since == (0 if state is RequestState.ASKED else 1_767_225_600)


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {}},
        {"labels": {"app.kubernetes.io/managed-by": "kueue"}},
        {"annotations": {}},
        {"annotations": {"py-gang-scheduler.io/provisioned-gang": "PodGroup/"}},
    ],
)
def test_what_is_not_ours_is_for_no_gang(metadata: dict[str, Any]) -> None:
    assert provisioning.NO_GANG == provisioning.request(body(**metadata)).gang


@pytest.mark.parametrize("name", ["a", "other/a", "../other/a", "other/PodGroup/a"])
def test_a_request_is_for_a_gang_of_its_own_namespace_whatever_it_says(name: str) -> None:
    written = {"py-gang-scheduler.io/provisioned-gang": f"PodGroup/{name}"}

    found = provisioning.request(body(annotations=written)).gang

    assert ("ns", name) == (found.namespace, found.name)


@pytest.mark.parametrize("text", ["", "-1", "x", "99999"])
def test_an_attempt_that_cannot_be_read_is_the_first(text: str) -> None:
    metadata = {"annotations": {**ANNOTATIONS, "py-gang-scheduler.io/provisioning-attempt": text}}

    assert provisioning.request(body(**metadata)).attempt == 1


def test_a_request_that_is_being_deleted_says_so() -> None:
    assert provisioning.request(body(deletionTimestamp=AT)).deleting


def test_what_is_written_of_a_gang_is_read_again() -> None:
    written = {"py-gang-scheduler.io/provisioned-gang": provisioning.written(KEY)}

    assert provisioning.request(body(annotations=written)).gang == KEY


def test_a_configuration_has_the_defaults_of_kueue() -> None:
    found = provisioning.config({"metadata": {"name": "a"}, "spec": {}})

    assert ProvisioningRules("", retry=Retry(3, 60, 1800)) == found.rules


def test_a_configuration_says_how_nodes_are_asked_for() -> None:
    spec = {
        "provisioningClassName": "class",
        "parameters": {"b": "2", "a": "1"},
        "managedResources": ["nvidia.com/gpu"],
        "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 2},
    }

    found = provisioning.config({"metadata": {"name": "a", "uid": "u"}, "spec": spec})

    assert ("u", "a") == (found.uid, found.name)
    parameters = (("a", "1"), ("b", "2"))
    retry = Retry(1, 2, 1800)
    assert ProvisioningRules("class", parameters, ("nvidia.com/gpu",), retry) == found.rules


def test_a_configuration_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidField, match=r"spec\.retryStrategy\.backoffLimitCount"):
        provisioning.config({"metadata": {}, "spec": {"retryStrategy": {"backoffLimitCount": -1}}})
