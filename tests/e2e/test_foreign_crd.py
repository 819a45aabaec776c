"""Another product's PodGroup CRD: it accepts anything, and has no status subresource.

What a broken client stores there waits and says why; status is written the way that CRD allows;
others go on.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from e2e.support import operator_health
from e2e.support.manifests import gang, members
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

NAMES = {
    "kind": "PodGroup",
    "listKind": "PodGroupList",
    "plural": "podgroups",
    "singular": "podgroup",
}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = {
    "metadata": {
        "name": "podgroups.scheduling.sigs.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    },
    "spec": {
        "group": "scheduling.sigs.k8s.io",
        "scope": "Namespaced",
        "names": NAMES,
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": ANYTHING},
            }
        ],
    },
}
WRONG_SPECS: dict[str, Any] = {
    "spec.minMember must be a whole number": {"minMember": "three"},
    "spec.minMember must be a whole number ": {"minMember": [1]},
    "spec.minMember must": {"minMember": 2.5},
    "spec.minMember must ": {"minMember": 0},
    "spec.minMember": {},
    "spec.scheduleTimeoutSeconds": {"minMember": 2, "scheduleTimeoutSeconds": {}},
    "spec.minResources": {"minMember": 2, "minResources": "lots"},
    "spec": "text",
}
WRONG_STATUSES: list[Any] = [
    "broken",
    7,
    ["a"],
    {"phase": 7, "members": "many"},
    {"conditions": "none"},
    {"conditions": [1]},
    {"conditions": [{"type": 1, "status": True}]},
    {"conditions": {"type": "Scheduled"}},
    {"scheduleStartTime": 7},
]


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with the foreign CRD alone."""
    with controlplane.start() as started:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        started.request("POST", path, CRD)
        started.kubectl("wait", "--for=condition=Established", f"crd/{CRD['metadata']['name']}")  # type: ignore[index] # a dict of anything
        started.nodes(4)
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


def test_status_is_written_to_the_object_itself_and_then_left_alone(
    scheduler: controlplane.Scheduler, namespace: Namespace
) -> None:
    namespace.create(*gang("a", 3))
    eventually("Running", lambda: namespace.phase("a"))
    eventually(3, lambda: namespace.status("a").get("running"))

    # Every write makes a new generation here, which must not be a reason to write again.
    other = scheduler.metric("pgs_writes_total")
    before = namespace.get("podgroups", "a")["metadata"]["resourceVersion"]
    for name in "bcd":
        namespace.create(*gang(name, 1))
        eventually("Running", partial(namespace.phase, name))
    assert scheduler.metric("pgs_writes_total") > other
    assert before == namespace.get("podgroups", "a")["metadata"]["resourceVersion"]


@pytest.mark.parametrize("words", WRONG_SPECS)
def test_a_wrong_spec_waits_with_the_field_named_and_others_go_on(
    namespace: Namespace, words: str
) -> None:
    namespace.create(group("bad", spec=WRONG_SPECS[words]), *members("bad", 2))
    namespace.create(*gang("good", 2))

    eventually("Running", lambda: namespace.phase("good"))
    eventually("True", lambda: namespace.condition_of_gang("bad", "InvalidSpec").get("status"))
    assert words.strip() in namespace.condition_of_gang("bad", "InvalidSpec")["message"]
    assert words.strip() in until(lambda: namespace.notes("bad", "InvalidGang"))[0]
    assert {} == namespace.bound("bad")


@pytest.mark.parametrize("status", WRONG_STATUSES, ids=str)
def test_a_wrong_status_harms_no_gang(
    scheduler: controlplane.Scheduler, namespace: Namespace, status: Any
) -> None:
    with operator_health.is_unharmed(scheduler):
        namespace.create(group("bad", spec={"minMember": 2}, status=status), *members("bad", 2))
        namespace.create(*gang("good", 2))

        eventually("Running", lambda: namespace.phase("good"))


def group(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        **fields,
    }
