"""The tables on owners and on ranks of the conformance data (from Koordinator, Apache-2.0)."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods import membership
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.report.pod_group_status import View, status_of
from support import decoded as pod_decode
from support.api_objects import pod_body
from support.builders import gang_key, gang_spec, pod
from support.gang_queue_builders import gang_info

OCCUPIED_BY: list[tuple[str, list[str], str]] = [
    ("default", [], ""),
    ("default", ["owner-1"], "default/owner-1"),
    (
        "kube-system",
        ["owner-b", "owner-a", "owner-c"],
        "kube-system/owner-a,kube-system/owner-b,kube-system/owner-c",
    ),
]
POD_INDEX: list[tuple[str | None, int, bool]] = [
    (None, -1, False),
    ("invalid", -1, True),
    ("1", 1, False),
]


def occupied_by(*members: Pod) -> str | None:
    spec = gang_spec("a")
    info = gang_info(gang_key("a"), members, [spec])
    found: str | None = status_of(info, spec, View({}, now=0))["occupiedBy"]
    return found


def owned_pod(namespace: str, owners: list[str]) -> Pod:
    references = [{"apiVersion": "v1", "kind": "X", "name": name, "uid": name} for name in owners]
    metadata = {"name": "p", "namespace": namespace, "uid": "u", "ownerReferences": references}
    return pod_decode.pod({"metadata": metadata, "spec": {}, "status": {}})


@pytest.mark.parametrize(("namespace", "owners", "expected"), OCCUPIED_BY)
def test_occupied_by_table(namespace: str, owners: list[str], expected: str) -> None:
    # An empty one is absent: null removes it from what is written already.
    assert (expected or None) == occupied_by(owned_pod(namespace, owners))


def test_a_gang_is_occupied_by_the_owners_of_all_its_members() -> None:
    members = [pod(f"p-{i}", owner=owner) for i, owner in enumerate(["n/b", "n/a,n/b", "", "n/c"])]

    assert "n/a,n/b,n/c" == occupied_by(*members)


@pytest.mark.parametrize(("text", "index", "error"), POD_INDEX)
def test_pod_index_table(text: str | None, index: int, *, error: bool) -> None:
    present = {} if text is None else {annotations.NETWORK_TOPOLOGY_INDEX: text}
    member = pod_decode.pod(pod_body("p", metadata={"annotations": present}))

    assert (() if index < 0 else (index,)) == member.rank
    assert error is (member.problem is not None)
    if error:
        with pytest.raises(InvalidField, match=str(text)):
            membership.index_of(present)
    else:
        assert index == membership.index_of(present)


def indexed(name: str, index: int) -> Pod:
    present = {annotations.NETWORK_TOPOLOGY_INDEX: str(index)}
    return pod_decode.pod(pod_body(name, metadata={"annotations": present}))


def test_pod_index_table_without_indexes_by_name() -> None:
    found = sorted([pod("pod2"), pod("pod1")], key=rank_key)

    assert ["pod1", "pod2"] == [each.name for each in found]


def test_pod_index_table_by_index() -> None:
    found = sorted([indexed("", 2), indexed("", 1)], key=rank_key)

    assert [(1,), (2,)] == [each.rank for each in found]
