"""Variables of a container as Kubernetes makes them: references, and fields of the pod."""

from typing import Any

import pytest

from tools.controlplane import errors
from tools.kubelet import variables


def pod(*env: dict[str, Any], command: tuple[str, ...] = ("run",)) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "train-0",
            "namespace": "team-a",
            "uid": "17",
            "labels": {"index": "3"},
            "annotations": {"example.com/path": "s3://a/7"},
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "main", "command": list(command), "env": list(env)}],
        },
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)/$(B)", "1/2"),
        ("$(C)", "$(C)"),
        ("$$(A)", "$(A)"),
        ("$A", "$A"),
        ("a$$b", "a$b"),
    ],
)
def test_references_are_replaced_as_far_as_they_are_known(text: str, expected: str) -> None:
    assert expected == variables.expanded(text, {"A": "1", "B": "2"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "train-0"),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", ""),
        ("metadata.labels['index']", "3"),
        ("metadata.annotations['example.com/path']", "s3://a/7"),
        ("metadata.annotations['example.com/none']", ""),
    ],
)
def test_a_field_of_the_pod_is_found(path: str, expected: str) -> None:
    assert expected == variables.field(pod(), path)


def test_a_field_that_is_not_known_is_refused() -> None:
    with pytest.raises(errors.ControlPlaneError, match=r"status\.hostIP"):
        variables.field(pod(), "status.hostIP")


def test_a_variable_refers_to_those_before_it_alone() -> None:
    env = (
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        {"name": "B", "value": "$(GIVEN)-$(A)-$(C)"},
        {"name": "C", "value": "late"},
    )
    found = variables.variables(pod(*env), {"GIVEN": "g"})

    assert {"GIVEN": "g", "A": "17", "B": "g-17-$(C)", "C": "late"} == found
    assert ["run", "g-17-$(C)"] == variables.command(pod(command=("run", "$(B)")), found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llama-0.llama", "127.0.0.1"),
        ("llama-0.llama,llama-1.llama:29500", "127.0.0.1,127.0.0.1:29500"),
        ("llama-0.llama2 other.llama.org", "llama-0.llama2 other.llama.org"),
        ("llama", "llama"),
    ],
)
def test_members_of_a_service_are_on_this_machine(text: str, expected: str) -> None:
    assert expected == variables.on_this_machine({"spec": {"subdomain": "llama"}}, text)
    assert text == variables.on_this_machine({"spec": {}}, text)
