"""IT WOULD START NOW WITH: what is to be changed, in which field, and which role can do it."""

from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.api.annotations import DISABLE_PREEMPTIBLE
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.inspection.explaining.text import would_start
from support.listed_clusters import GPU, Body, document, explained, gang, node, queue

NODES = [node("n-0"), node("n-1")]


def lines(directory: Path, *bodies: Body) -> list[str]:
    found = explained(directory, bodies, "team/asks")
    said = would_start(found, View())
    return [" ".join(line.text.split()) for line in said]


def test_quota_is_reported_with_the_fields_of_the_queue_that_have_it(tmp_path: Path) -> None:
    team = queue("blue", 8)
    team["spec"]["quota"]["hard"] = {GPU: "8"}

    first, *_ = lines(tmp_path, *NODES, team, *gang("asks", 2, queue="blue"))

    fields = "(spec.quota.soft and spec.quota.hard)"
    assert f"Queue blue: 16 {GPU} instead of 8 {fields} on n-0, n-1 (queue administrator)" == first


def test_a_limit_that_is_high_enough_is_left_alone(tmp_path: Path) -> None:
    team = queue("blue", 8)
    team["spec"]["borrowing"] = {"enabled": False}
    team["spec"]["quota"]["hard"] = {GPU: "16"}

    first, *_ = lines(tmp_path, *NODES, team, *gang("asks", 2, queue="blue"))

    assert f"Queue blue: 16 {GPU} instead of 8 (spec.quota.soft) on n-0, n-1" in first


def test_what_no_node_has_is_reported_with_the_most_that_one_has(tmp_path: Path) -> None:
    assert [f"8 {GPU} instead of 12 a member on n-0, n-1 (submitter)"] == [
        each for each in lines(tmp_path, *NODES, *gang("asks", 2, gpus=12)) if GPU in each
    ]


def test_members_that_ask_for_less_are_as_many_as_are_needed(tmp_path: Path) -> None:
    said = lines(tmp_path, *NODES, *gang("asks", 4, gpus=5))

    assert f"4 {GPU} instead of 5 a member on n-0, n-1 (submitter)" in said


def test_of_less_than_half_nothing_is_reported(tmp_path: Path) -> None:
    said = lines(tmp_path, *NODES, *gang("asks", 6, gpus=8))

    assert [] == [each for each in said if "instead of 8" in each]


def test_a_taint_is_reported_as_kubectl_shows_it(tmp_path: Path) -> None:
    nodes = [node("n-0"), node("n-1")]
    nodes[0]["spec"] = {
        "taints": [{"key": "dedicated", "value": "serving", "effect": "NoSchedule"}]
    }

    assert "toleration of dedicated=serving:NoSchedule on n-1, n-0 (submitter)" in [
        each.replace("on n-0, n-1", "on n-1, n-0")
        for each in lines(tmp_path, *nodes, *gang("asks", 2))
    ]


def test_a_node_that_is_not_well_is_not_to_be_tolerated(tmp_path: Path) -> None:
    nodes = [node("n-0"), node("n-1")]
    key = "node.kubernetes.io/disk-pressure"
    nodes[0]["spec"] = {"taints": [{"key": key, "effect": "NoSchedule"}]}

    assert [] == [each for each in lines(tmp_path, *nodes, *gang("asks", 2)) if key in each]


def test_where_no_change_helps_it_is_said_what_was_tried(tmp_path: Path) -> None:
    running = gang("runs", 2, nodes=["n-0", "n-1"])
    for each in running[1:]:
        each["metadata"]["labels"] |= {DISABLE_PREEMPTIBLE: "true"}

    (said,) = lines(tmp_path, *NODES, *running, *gang("asks", 2))

    assert "no single change that was tried: fewer members, less asked, a higher priority" == said


def promised(name: str, gpus: int | None, parent: str = "", *, borrows: bool = False) -> Body:
    """Return a Queue that is promised so much, if anything."""
    body = queue(name, gpus or 0, parent)
    body["spec"]["borrowing"] = {"enabled": borrows}
    if gpus is None:
        del body["spec"]["quota"]
    return body


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("above", [None, 4])
@pytest.mark.parametrize("asked", [5, 6, 8])
def test_quota_is_enough_for_what_comes_before_too(
    tmp_path: Path, own: int, above: int | None, asked: int
) -> None:
    queues = [
        promised("root", 32),
        promised("org", above, borrows=False),
        promised("blue", own, "org", borrows=True),
        promised("mate", 4 - own, "org"),
    ]
    gangs = [
        *gang("first", 1, gpus=4, queue="blue", priority=2),
        *gang("other", 1, gpus=3, queue="mate", priority=1),
        *gang("asks", 1, gpus=asked, queue="blue"),
    ]
    cluster = [*map(node, ("n-0", "n-1", "n-2", "n-3", "n-4")), *gangs]
    found = document("explain", tmp_path, [*cluster, *queues], "team/asks")
    (quotas,) = [each["quotas"] for each in found["wouldStart"] if each["change"] == "MoreQuota"]

    for each in quotas:
        raised = next(one for one in queues if one["metadata"]["name"] == each["queue"])
        raised["spec"].setdefault("quota", {}).setdefault("soft", {})[GPU] = each["amount"]
    after = document("explain", tmp_path, [*cluster, *queues], "team/asks")

    assert "Starts" == after["verdict"], quotas


def test_a_gang_that_has_lost_members_gets_no_advice_to_evict_its_own(tmp_path: Path) -> None:
    members = gang("asks", 4, gpus=5, nodes=["n-0", "n-1"])
    for each in members[3:]:
        each["spec"]["containers"][0]["resources"]["requests"][GPU] = 4
        each["spec"]["containers"][0]["resources"]["limits"][GPU] = 4
    found: Any = document("explain", tmp_path, [*NODES, *members], "team/asks")

    assert [] == [each for each in found["wouldStart"] if each["victims"]]
    assert found["preemption"]["protection"] is None


def test_of_a_group_the_gang_is_named_that_would_start_with_fewer_members(tmp_path: Path) -> None:
    groups = '["team/asks", "team/mate"]'
    bodies = [
        *gang("asks", 1, annotations={"gang.scheduling.koordinator.sh/groups": groups}),
        *gang("mate", 5, annotations={"gang.scheduling.koordinator.sh/groups": groups}),
    ]

    assert "minMember 1 of 5 of team/mate" in lines(tmp_path, *NODES, *bodies)[0]
