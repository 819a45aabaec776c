"""An AppWrapper is its components, with its label on their pods."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from support.expansion import TEMPLATE, Body, expanded, owners_of, pods_made, stored

LABEL = "workload.codeflare.dev/appwrapper"
JOB = {
    "kind": "Job",
    "apiVersion": "batch/v1",
    "metadata": {"name": "j"},
    "spec": {"parallelism": 2, "template": TEMPLATE},
}


def wrapper(*templates: Any, **others: Any) -> Body:
    return {
        "kind": "AppWrapper",
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "metadata": {"name": "w"},
        "spec": {"components": [{"template": each} for each in templates]},
        **others,
    }


def test_components_are_what_they_are_by_themselves() -> None:
    service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}}

    made = expanded(wrapper(JOB, service))

    assert ["j", "j-0", "j-1", "s"] == [each["metadata"]["name"] for each in made]
    assert ["AppWrapper w"] == owners_of(made[0])


def test_pods_have_the_label_beside_their_own() -> None:
    labels = pods_made(wrapper(JOB))["j-0"]["metadata"]["labels"]

    assert ("w", "a") == (labels[LABEL], labels["app"])


@pytest.mark.parametrize(
    "body",
    [
        wrapper(JOB, status={"phase": "Succeeded"}),
        stored({**wrapper(JOB), "spec": {**wrapper(JOB)["spec"], "suspend": True}}),
    ],
)
def test_what_has_ended_or_waits_makes_nothing(body: Body) -> None:
    assert [] == expanded(body)


def test_components_that_are_there_are_not_made_again() -> None:
    assert ["j-0", "j-1"] == [*pods_made(stored(wrapper(JOB)), stored(JOB, uid="j"))]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (wrapper(None), "spec.components[0].template is required"),
        (wrapper({"kind": "Job"}), "spec.components[0].template.apiVersion is required"),
        (
            wrapper({"kind": "Job", "apiVersion": "batch/v1"}),
            "spec.components[0].template.metadata.name is required",
        ),
    ],
)
def test_what_is_no_object_is_refused_by_field(body: Body, problem: str) -> None:
    with pytest.raises(InvalidField) as caught:
        expanded(body)

    assert problem == str(caught.value)
