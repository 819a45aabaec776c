"""Names and labels that an API server refuses are refused with their field."""

import pytest

from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import UnreadableInput

SUBDOMAIN = "must be a DNS-1123 subdomain: a-z, 0-9, - and ., at most 253 characters"
LABEL = "must be a DNS-1123 label: a-z, 0-9 and -, at most 63 characters"
KEYS = "must have keys such as name or example.com/name"
VALUES = (
    "must have at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit"
)
JOB = "kind: Job, apiVersion: batch/v1"


def problems(text: str) -> list[str]:
    try:
        objects.load(documents.parse("f", f"{{{text}}}"), "ours")
    except UnreadableInput as error:
        return [line.removeprefix("f: document 1: ") for line in error.lines]
    return []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "kind: Pod, apiVersion: v1, metadata: {name: A_b}",
            f'metadata.name {SUBDOMAIN} (it is "A_b")',
        ),
        (
            "kind: Node, apiVersion: v1, metadata: {name: n.}",
            f'metadata.name {SUBDOMAIN} (it is "n.")',
        ),
        (
            "kind: Pod, apiVersion: v1, metadata: {name: a, namespace: a.b}",
            f'metadata.namespace {LABEL} (it is "a.b")',
        ),
        (
            "kind: Namespace, apiVersion: v1, metadata: {name: a.b}",
            f'metadata.name {LABEL} (it is "a.b")',
        ),
        (
            "kind: PodGroup, apiVersion: scheduling.x-k8s.io/v1alpha1, metadata: {name: a b}",
            f'metadata.name {SUBDOMAIN} (it is "a b")',
        ),
        (
            f"{JOB}, metadata: {{name: {'a' * 64}}}, spec: {{template: {{}}}}",
            f'metadata.name {SUBDOMAIN.replace("253", "63")} (it is "{"a" * 64}")',
        ),
        (
            "kind: Pod, apiVersion: v1, metadata: {name: a, labels: {a b: c}}",
            f'metadata.labels {KEYS}, not "a b"',
        ),
        (
            "kind: Pod, apiVersion: v1, metadata: {name: a, labels: {X/y: c}}",
            f'metadata.labels {KEYS}, not "X/y"',
        ),
        (
            "kind: Pod, apiVersion: v1, metadata: {name: a, labels: {team: a/b}}",
            f'metadata.labels.team {VALUES} (it is "a/b")',
        ),
        (
            "kind: Pod, apiVersion: v1, metadata: {name: a, annotations: {/y: c}}",
            f'metadata.annotations {KEYS}, not "/y"',
        ),
        (
            (
                f"{JOB}, metadata: {{name: a}}, "
                "spec: {parallelism: 9, template: {metadata: {labels: {team: -}}}}"
            ),
            f'spec.template.metadata.labels.team {VALUES} (it is "-")',
        ),
    ],
)
def test_what_an_api_server_refuses_is_refused_once(text: str, problem: str) -> None:
    assert [problem] == problems(text)


def test_what_an_api_server_takes_is_read() -> None:
    metadata = (
        "{name: a.b-1, labels: {A.b_c: '', example.com/Team_1: X.y_Z}, annotations: {a/B: !}}"
    )

    assert [] == problems(f"kind: Pod, apiVersion: v1, metadata: {metadata}".replace("!", "'/ /'"))


def test_capitals_in_the_name_of_a_gang_are_noted() -> None:
    text = "{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: gangA}}"
    found = objects.load(documents.parse("f", text), "ours")

    note = "f: document 1: PodGroup gangA: an API server refuses names with capital letters"
    assert (note,) == found.notes
