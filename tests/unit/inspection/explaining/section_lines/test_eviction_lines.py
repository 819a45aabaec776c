"""PREEMPTION: which pods go for a gang, or what forbids it, in one truth with the variants."""

import json
from pathlib import Path

import pytest

from gang_scheduler.api.annotations import (
    DISABLE_PREEMPTIBLE,
    MIN_RUNTIME,
    NETWORK_TOPOLOGY_SPEC,
    QUOTA_PREEMPTIBLE,
)
from gang_scheduler.inspection.explaining import section_lines
from gang_scheduler.inspection.explaining.section_lines import SWITCHED_OFF, View
from gang_scheduler.scheduler.explanation.findings import Change, StartBasis, Variant
from support import listed_clusters
from support.listed_clusters import Body, gang, node, pod, queue

NODES = [node(f"n-{number}") for number in range(6)]
QUEUES = [queue("blue", 24), queue("red", 24)]


def on(first: int, number: int) -> list[str]:
    return [f"n-{place}" for place in range(first, first + number)]


def explained(directory: Path, bodies: list[Body]) -> tuple[str, tuple[Variant, ...]]:
    """Return PREEMPTION of a gang that waits, and the changes that would start it."""
    found = listed_clusters.explained(directory, [*NODES, *bodies], "team/asks")
    (line,) = section_lines.preemption_lines(found, View())
    return line.text, found.would_start or ()


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        (
            [*QUEUES, *gang("r", 5, queue="red", nodes=on(0, 5)), *gang("asks", 4, queue="blue")],
            (
                "none: no pod of blue runs; 5 pods of queues that use more than their own quota "
                "stay: with this gang blue would use more than its own quota, too"
            ),
        ),
        (
            [
                *(*QUEUES, *gang("b", 3, queue="blue", nodes=on(0, 3))),
                *(*gang("r", 3, queue="red", nodes=on(3, 3)), *gang("asks", 1, queue="blue")),
            ],
            (
                "none: by priority none of the 3 pods of blue may be evicted; "
                "no pod runs in a queue that uses more than its own quota"
            ),
        ),
        (
            [*gang("r", 6, nodes=on(0, 6)), *gang("asks", 1)],
            "none: all 6 pods that run have priority 0 or more (team/r-0), and it has 0",
        ),
    ],
)
def test_what_forbids_evictions_is_said(tmp_path: Path, bodies: list[Body], said: str) -> None:
    assert said == explained(tmp_path, bodies)[0]


def test_what_others_borrow_goes_for_fewer_members_as_it_is_said(tmp_path: Path) -> None:
    runs = gang("r", 5, queue="red", nodes=on(0, 5))
    said, would_start = explained(tmp_path, [*QUEUES, *runs, *gang("asks", 4, queue="blue")])

    (fewer,) = (each for each in would_start if each.change is Change.FEWER_MEMBERS)
    assert 3 == fewer.number
    assert sum(each.number for each in fewer.victims)
    assert "priority" not in said


LABELLED = {DISABLE_PREEMPTIBLE: "true"}


def test_pods_that_may_not_be_evicted_are_counted_by_what_protects_them(tmp_path: Path) -> None:
    runs = [
        *gang("first", 2, nodes=on(0, 2), priority=9),
        *gang("kept", 2, nodes=on(2, 2), labels=LABELLED),
        *gang("young", 2, nodes=on(4, 2), annotations={MIN_RUNTIME: "600s"}),
    ]

    said, _ = explained(tmp_path, [*runs, *gang("asks", 1, priority=5)])

    label = f"the label {DISABLE_PREEMPTIBLE} or {QUOTA_PREEMPTIBLE} forbids it"
    assert (
        "none: 2 of 6 pods rank no lower, the lowest at 9 (team/first-0); "
        f"2 pods stay: {label} (team/kept-0); "
        "2 pods stay: the minimum run time of the gang is not over (team/young-0)" == said
    )


def test_evictions_that_would_not_help_say_what_stays(tmp_path: Path) -> None:
    runs = [
        *gang("kept", 5, nodes=on(0, 5), labels=LABELLED),
        *gang("goes", 1, nodes=on(5, 1)),
    ]

    said, _ = explained(tmp_path, [*runs, *gang("asks", 2, priority=5)])

    help_none = "not helpful: evicting every pod that may be evicted would not make room"
    assert said.startswith(help_none)
    assert "; 5 pods stay: the label " in said


def test_pods_of_a_budget_that_is_spent_are_said_to_go_last(tmp_path: Path) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "team"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "serving"}}},
        "status": {"disruptionsAllowed": 0},
    }
    runs = [
        *gang("few", 3, nodes=on(0, 3), labels={"app": "serving"}),
        *gang("first", 3, nodes=on(3, 3), priority=9),
    ]

    said, _ = explained(tmp_path, [budget, *runs, *gang("asks", 4, priority=5)])

    assert said.endswith(
        "3 pods would be evicted last: a PodDisruptionBudget allows no eviction, such as team/few-0"
    )


RACK = "example.com/rack"
RACKS: Body = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Topology",
    "metadata": {"name": "default"},
    "spec": {"levels": [{"nodeLabel": RACK}]},
}
WITHIN: list[list[Body]] = [
    [],
    [{"layer": RACK, "strategy": "MustGather"}],
    [{"layer": RACK, "strategy": "PreferGather"}],
    [
        {"layer": "NodeTopologyLayer", "strategy": "PreferGather"},
        {"layer": RACK, "strategy": "MustGather"},
    ],
]


@pytest.mark.parametrize("within", WITHIN, ids=str)
def test_pods_that_leave_already_are_counted_and_those_waited_for_named(
    within: list[Body], tmp_path: Path
) -> None:
    labels = ("a", "a", "b", "b", "c", "c")
    nodes = [node(f"n-{number}", labels={RACK: rack}) for number, rack in enumerate(labels)]
    runs = gang("r", 6, nodes=on(0, 6))
    for each in runs[3:5]:
        each["metadata"]["deletionTimestamp"] = "2026-01-01T12:10:00Z"

    asked = {NETWORK_TOPOLOGY_SPEC: json.dumps({"gatherStrategy": within})} if within else {}
    bodies = [RACKS, *nodes, *runs, *gang("asks", 2, annotations=asked)]
    found = listed_clusters.explained(tmp_path, bodies, "team/asks")

    (line,) = section_lines.preemption_lines(found, View())
    assert "none more: 2 pods leave already, team/r-2, team/r-3" == line.text
    assert "2 pods that leave have gone, team/r-2, team/r-3." in found.summary


ENDS = {"activeDeadlineSeconds": 3600}


def ending(bodies: list[Body]) -> list[Body]:
    """Return the objects; pods among them end in time."""
    for each in bodies:
        if each["kind"] == "Pod":
            each["spec"] |= ENDS
    return bodies


@pytest.mark.parametrize(
    ("bodies", "after"),
    [
        ([*gang("runs", 6, nodes=on(0, 6)), *gang("asks", 1)], "team/runs"),
        ([*gang("runs", 6, nodes=on(0, 6)), *gang("asks", 6)], "team/runs"),
        ([*gang("runs", 6, nodes=on(0, 6)), *gang("asks", 1, priority=9)], "team/runs"),
        ([*gang("runs", 5, nodes=on(0, 5)), *gang("asks", 2)], "team/runs"),
        ([*ending(gang("runs", 6, nodes=on(0, 6))), *gang("asks", 1)], "team/runs"),
        ([*gang("runs", 6, gpus=5, nodes=on(0, 6)), *gang("asks", 1, gpus=4)], "team/runs"),
        (
            [
                *QUEUES,
                *gang("runs", 3, queue="red", nodes=on(0, 3)),
                *gang("asks", 4, queue="blue"),
            ],
            "team/runs",
        ),
        (
            [
                *(*QUEUES, *gang("runs", 6, queue="red", nodes=on(0, 6))),
                *gang("asks", 1, queue="blue", priority=5),
            ],
            "team/runs",
        ),
        (
            [
                *[pod(f"x-{i}", node=f"n-{i}", scheduler="other") for i in range(6)],
                *gang("asks", 1),
            ],
            "team/x-0",
        ),
        (
            [*[pod(f"x-{i}", node=f"n-{i}") for i in range(6)], *gang("asks", 1, priority=7)],
            "team/x-0",
        ),
    ],
)
def test_without_preemption_what_holds_the_room_is_reported_as_with_it(
    tmp_path: Path, bodies: list[Body], after: str
) -> None:
    off = ("preemption=false",)
    found = listed_clusters.explained(tmp_path, [*NODES, *bodies], "team/asks", off)
    (line,) = section_lines.preemption_lines(found, View())
    assert found.where is not None
    nearest = found.where.explained[0].nearest

    assert SWITCHED_OFF == line.text
    ends = any("activeDeadlineSeconds" in each["spec"] for each in bodies)
    start = found.start
    assert start is not None
    assert (StartBasis.ENDS, after, ends) == (start.basis, start.after, start.at is not None)
    assert nearest is None or (nearest.holders[0].gang or "").startswith("team/")
    assert [] == [each for each in found.would_start or () if each.victims]
