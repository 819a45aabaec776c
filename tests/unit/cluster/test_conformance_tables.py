"""The tables on owners and on ranks of the conformance data (from Koordinator, Apache-2.0)."""

from itertools import permutations

import pytest

from builders import declaration, gang_key, pod
from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cluster import decode, ranks
from gang_scheduler.cluster.pod_group_status import status_of
from gang_scheduler.cluster.records import Record
from gang_scheduler.model.pods import Pod

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
    said = declaration("a")
    record = Record(gang_key("a"), {each.uid: each for each in members}, {said.uid: said})
    found: str | None = status_of(record, said, {}, 0, None)["occupiedBy"]
    return found


def owned_pod(namespace: str, owners: list[str]) -> Pod:
    references = [{"apiVersion": "v1", "kind": "X", "name": name, "uid": name} for name in owners]
    metadata = {"name": "p", "namespace": namespace, "uid": "u", "ownerReferences": references}
    return decode.pod({"metadata": metadata, "spec": {}, "status": {}})


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
    member = pod("p", annotations=present)

    assert index == ranks.rank_of(member)
    assert error is (ranks.problem([member]) is not None)
    if error:
        with pytest.raises(InvalidField, match=str(text)):
            ranks.index_of(present)


def indexed(name: str, index: int | None = None) -> Pod:
    key = annotations.NETWORK_TOPOLOGY_INDEX
    return pod(name, annotations={} if index is None else {key: str(index)})


def test_pod_index_table_without_indexes_by_name() -> None:
    found = sorted([indexed("pod2"), indexed("pod1")], key=ranks.rank_key)

    assert ["pod1", "pod2"] == [each.name for each in found]


def test_pod_index_table_by_index() -> None:
    found = sorted([indexed("", 2), indexed("", 1)], key=ranks.rank_key)

    assert [1, 2] == [ranks.rank_of(each) for each in found]


@pytest.mark.parametrize(
    "key",
    [
        "batch.kubernetes.io/job-completion-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "training.kubeflow.org/replica-index",
    ],
)
def test_the_index_that_a_controller_wrote_is_the_rank(key: str) -> None:
    assert [7, 7] == [
        ranks.rank_of(pod("p-3", labels={key: "7"})),
        ranks.rank_of(pod("p-3", annotations={key: "7"})),
    ]


def test_ranks_are_numbers_and_the_own_index_comes_before_a_controllers() -> None:
    batch = {"batch.kubernetes.io/job-completion-index": "1"}
    members = [
        indexed("z", 0),
        pod("y", annotations={**batch, annotations.NETWORK_TOPOLOGY_INDEX: "2"}),
        indexed("x", 10),
        indexed("w", 10),
    ]

    for shuffled in permutations(members):
        found = [each.name for each in sorted(shuffled, key=ranks.rank_key)]
        assert ["z", "y", "w", "x"] == found


@pytest.mark.parametrize("junk", ["", "-1", "1.0", " 1", "1\n", "0x1", "9" * 20, "\u0661"])
def test_an_index_that_is_no_number_is_a_problem_with_pod_field_and_value(junk: str) -> None:
    member = pod("p", annotations={annotations.NETWORK_TOPOLOGY_INDEX: junk})

    problem = ranks.problem([member])

    assert problem is not None
    assert "default/p" in problem.message
    assert annotations.NETWORK_TOPOLOGY_INDEX in problem.message
