"""What the status of a Queue says."""

from dataclasses import replace

import pytest

from gang_scheduler.api.conditions import Finding
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.causes.queues import FieldRefused, Inactivity, QueueInactive
from gang_scheduler.model.queues import Amounts, FlavorResource, QueueFigures, RecentUsage
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.report.queues import status as queue_status
from gang_scheduler.report.queues.status import View, status_of
from gang_scheduler.report.words.text import text_of
from support.queue_figures import TEAM_A, TREE, X, Y, queue, ref


@pytest.mark.parametrize("stop", [StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN])
def test_a_stopped_queue_is_not_active(stop: StopPolicy) -> None:
    finding = queue_status.activity(replace(TEAM_A, queue=replace(TEAM_A.queue, stop=stop)))

    assert Finding("Active", status=False, reason="Stopped", message=finding.message) == finding
    assert stop in finding.message


def test_an_invalid_queue_says_what_is_wrong() -> None:
    cause = QueueInactive("team-a", Inactivity.CYCLE, FieldRefused("spec.parent", "team-a"))
    problem = Problem(Reason.QUEUE_STOPPED, cause)
    finding = queue_status.activity(replace(TEAM_A, problem=problem))

    words = text_of(cause)
    assert Finding("Active", status=False, reason="Cycle", message=words) == finding


def test_any_other_queue_is_active() -> None:
    assert queue_status.activity(TEAM_A).status


VIEW = View(now=1000, generation=3, pending=2)
GPUS = replace(
    TEAM_A,
    amounts={
        FlavorResource("a100", "nvidia.com/gpu"): Amounts(8, 6, 0, 2, 8),
        FlavorResource("h100", "nvidia.com/gpu"): Amounts(4, 4, 1, 0, 4),
    },
)


def test_a_status_has_every_figure_by_flavor_and_resource() -> None:
    status = queue_status.status_of(TEAM_A, VIEW)

    assert {"default": {"cpu": "6", "memory": "0"}} == status["nominal"]
    assert {"default": {"cpu": "8", "memory": "1536Mi"}} == status["used"]
    assert {"default": {"cpu": "2", "memory": "0"}} == status["borrowed"]
    assert {"default": {"cpu": "0", "memory": "0"}} == status["lent"]
    assert {"default": {"cpu": "7", "memory": "0"}} == status["fairShare"]
    assert ("0.166667", 2, 2) == (
        status["share"],
        status["pendingJobs"],
        status["runningJobs"],
    )


def test_gpus_of_all_flavors_are_one_column() -> None:
    view = replace(VIEW, gpu_resources=("nvidia.com/gpu", "amd.com/gpu"))

    figures = {"nominal": "12", "used": "10", "borrowed": "1", "lent": "2"}
    assert {"resource": "gpu", **figures} == queue_status.status_of(GPUS, view)["summary"]


def test_gpus_of_any_vendor_are_counted_once() -> None:
    gpu, vendor = FlavorResource("default", "gpu"), FlavorResource("default", "nvidia.com/gpu")
    both = replace(TEAM_A, amounts={gpu: Amounts(4), vendor: Amounts(4)})

    found = queue_status.status_of(both, replace(VIEW, gpu_resources=("nvidia.com/gpu",)))
    assert "4" == found["summary"]["nominal"]


@pytest.mark.parametrize(
    ("resources", "shown"),
    [
        (("memory", "cpu", "a/x"), {"resource": "cpu", "nominal": "6"}),
        (("memory", "a/x"), {"resource": "memory", "nominal": "6000"}),
        (("b/x", "a/x"), {"resource": "a/x", "nominal": "6k"}),
        ((), None),
    ],
)
def test_a_queue_without_gpus_shows_another_resource(
    resources: tuple[str, ...], shown: dict[str, str] | None
) -> None:
    amounts = {FlavorResource("default", each): Amounts(6000) for each in resources}

    found = queue_status.status_of(replace(TEAM_A, amounts=amounts), VIEW)["summary"]
    assert shown == (found and {key: found[key] for key in shown or ()})


def test_an_infinite_share_is_absent() -> None:
    assert queue_status.status_of(replace(TEAM_A, share=None), VIEW)["share"] is None


def test_a_condition_that_is_over_is_written_if_it_was_there() -> None:
    more = {FlavorResource("default", "cpu"): (12000, 10000)}
    before = queue_status.status_of(replace(TEAM_A, oversubscribed=more), VIEW)
    after = queue_status.status_of(TEAM_A, replace(VIEW, written=before))

    assert (
        "the queues below were promised 12 of 10 cpu in flavor default"
        == (before["conditions"][1]["message"])
    )
    (_, oversubscribed) = after["conditions"]
    assert ("Oversubscribed", "False") == (oversubscribed["type"], oversubscribed["status"])
    assert ["Active"] == [
        each["type"] for each in queue_status.status_of(TEAM_A, VIEW)["conditions"]
    ]


def test_a_queue_that_starves_says_so() -> None:
    status = queue_status.status_of(replace(TEAM_A, starving=True), VIEW)

    assert ["Active", "Starving"] == [each["type"] for each in status["conditions"]]


def test_a_patch_removes_what_is_no_more() -> None:
    before = {"used": {"spot": {"cpu": "1", "memory": "2"}, "old": {"cpu": "1"}}, "other": "kept"}
    after = {"used": {"spot": {"cpu": "3"}}, "summary": None}

    patch = queue_status.patch_of(before, after)
    assert {"used": {"spot": {"cpu": "3", "memory": None}, "old": None}, "summary": None} == patch


def test_what_waits_below_a_queue_waits_in_it() -> None:
    pending = queue_status.pending_in_trees(TREE)

    assert (2, 0, 2) == tuple(pending[each.queue.ref] for each in TREE)


def test_queues_in_a_cycle_are_counted_once() -> None:
    a = QueueFigures(queue("a", ref("b")), {}, pending=(X,))
    b = QueueFigures(queue("b", ref("a")), {}, pending=(Y,))

    assert {ref("a"): 2, ref("b"): 2} == queue_status.pending_in_trees([a, b])


LATELY = RecentUsage(1000, {"cpu": 1500})
WRITTEN = {"at": "1970-01-01T00:16:40Z", "amounts": {"cpu": "1500m"}}


@pytest.mark.parametrize(
    ("now", "closing", "expected"),
    [(1299, False, "1500m"), (1300, False, "2"), (1001, True, "2"), (1000, True, "1500m")],
)
def test_what_was_used_lately_is_written_now_and_then(
    now: int, expected: str, *, closing: bool
) -> None:
    recent = RecentUsage(now, {"cpu": 2000})
    view = View({"recentUsage": WRITTEN}, now=now, recent=recent, closing=closing)

    assert expected == status_of(TEAM_A, view)["recentUsage"]["amounts"]["cpu"]


def test_what_was_used_lately_is_written_at_once_where_nothing_is_yet() -> None:
    assert WRITTEN == status_of(TEAM_A, replace(VIEW, recent=LATELY))["recentUsage"]


def test_a_queue_that_used_nothing_says_nothing_of_it() -> None:
    nothing = RecentUsage(9000, {})
    written = {"at": "?", "amounts": {}}
    kept = status_of(TEAM_A, View({"recentUsage": written}, now=9000, recent=nothing))

    assert "recentUsage" not in status_of(TEAM_A, replace(VIEW, recent=nothing))
    assert written == kept["recentUsage"]


def test_where_the_past_does_not_count_what_was_written_is_kept() -> None:
    view = View({"recentUsage": WRITTEN}, now=9000)

    assert WRITTEN == status_of(TEAM_A, view)["recentUsage"]
