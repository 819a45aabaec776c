"""The view of a reading: figures, selections, and Events by gang."""

from pathlib import Path

import pytest

from gang_scheduler.inspection import files
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.page import view
from gang_scheduler.page.view import Heartbeat, Reading, View, Wanted
from gang_scheduler.settings.policy import Policy
from support import listed_clusters
from support.listed_clusters import Body, gang, node, written

NODES = [node(f"node-{number}") for number in range(4)]
RUNS = gang("runs", 3, nodes=["node-0", "node-1", "node-2"])
WAITS = gang("waits", 2)


def seen(directory: Path, bodies: list[Body], events: list[SchedulerEvent] | None = None) -> View:
    """Return the view of a cluster of these objects."""
    cluster = files.read([written(directory, bodies)], Policy())
    return view.of_reading(Reading(cluster, events=events))


def event(name: str, reason: str, at: int, note: str = "") -> SchedulerEvent:
    """Return an Event."""
    return SchedulerEvent(namespace="team", name=name, reason=reason, note=note, first=at)


def test_gpus_are_idle_only_while_a_gang_in_line_asks_for_some(tmp_path: Path) -> None:
    alone = seen(tmp_path, [*NODES, *RUNS])
    assert (32, 24, 8) == alone.gpus
    assert 0 == alone.idle_while_waiting

    assert 8 == seen(tmp_path, [*NODES, *RUNS, *WAITS]).idle_while_waiting


def test_free_gpus_of_a_cordoned_node_are_not_free(tmp_path: Path) -> None:
    cordoned = node("node-9")
    cordoned["spec"] = {"unschedulable": True}

    assert (40, 24, 8) == seen(tmp_path, [*NODES, cordoned, *RUNS]).gpus


def test_gangs_are_selected_by_each_field_and_by_text(tmp_path: Path) -> None:
    found = seen(tmp_path, [*NODES, *RUNS, *WAITS])

    def names(wanted: Wanted) -> list[str]:
        return [row.key.name for row in view.selected(found, wanted)]

    assert ["waits", "runs"] == names(Wanted())
    assert ["waits"] == names(Wanted(states=frozenset({"waiting"})))
    assert ["runs"] == names(Wanted(text="NODE-1"))
    assert [] == names(Wanted(namespaces=frozenset({"other"})))
    assert ["waits", "runs"] == names(Wanted(kinds=frozenset({"podgroup"})))
    assert ["runs", "waits"] == names(Wanted(order="name"))


def test_events_of_members_are_reported_once_of_their_gang(tmp_path: Path) -> None:
    events = [
        event("runs", "Scheduled", 10, "3 members"),
        *(event(f"runs-{number}", "Scheduled", 10, f"to node-{number}") for number in range(3)),
        *(event(f"waits-{number}", "FailedScheduling", 20, "no room") for number in range(2)),
        event("waits", "Unschedulable", 15),
        event("gone-0", "Preempted", 30),
    ]

    found = seen(tmp_path, [*NODES, *RUNS, *WAITS], events).events

    assert [
        ("gone-0", "Preempted"),
        ("waits", "FailedScheduling"),
        ("waits", "Unschedulable"),
        ("runs", "Scheduled"),
    ] == [(each.name, each.reason) for each in found]


@pytest.mark.parametrize("of_gang", ["gone", "gone-0"])
def test_events_of_members_that_are_gone_are_reported_once_of_their_gang(
    tmp_path: Path, of_gang: str
) -> None:
    words = "Successfully assigned team/gone-{0} to node-{0} with 2 other members of gang team/gone"
    events = [
        *(event(f"gone-{number}", "Scheduled", 10, words.format(number)) for number in range(3)),
        event(of_gang, "Scheduled", 10, "Successfully assigned 3 members to 3 nodes: node-0"),
        event("alone", "Scheduled", 9, "Successfully assigned team/alone to node-0"),
        # A pod is in no gang of another namespace.
        event("other", "Scheduled", 8, "... as a member of gang foreign/runs"),
    ]

    found = seen(tmp_path, [*NODES, *RUNS], events).events
    assert ["gone", "alone", "other"] == [each.name for each in found]

    assert events[3].note == found[0].note

    without_its_own = seen(tmp_path, [*NODES, *RUNS], [*events[:3], *events[4:]]).events
    assert ["gone", "alone", "other"] == [each.name for each in without_its_own]


def test_events_are_selected_and_become_a_document(tmp_path: Path) -> None:
    found = seen(tmp_path, [*NODES, *RUNS], [event("runs", "Scheduled", 10), event("x", "Lost", 9)])

    chosen = view.events_of(found, Wanted(reasons=frozenset({"lost"})))
    assert ["x"] == [each.name for each in chosen]
    document = view.decision_document(found, chosen)
    listed_clusters.hold(document)
    assert ("1970-01-01T00:00:09Z", None) == (document["items"][0]["first"], document["lacks"])


def test_an_overview_has_the_lease_of_the_scheduler(tmp_path: Path) -> None:
    cluster = files.read([written(tmp_path, [*NODES, *RUNS])], Policy())
    beat = Heartbeat("pod-1", 100, 15)

    document = view.overview_document(view.of_reading(Reading(cluster, heartbeat=beat)))

    listed_clusters.hold(document)
    assert "pod-1" == document["scheduler"]["holder"]
    assert {"waiting": 0, "starting": 0, "running": 1} == document["gangs"]


def test_an_explanation_is_made_once_a_view(tmp_path: Path) -> None:
    found = seen(tmp_path, [*NODES, *WAITS, *RUNS])

    first = found.explained("waits", "team")

    assert first.document is not None
    assert first is found.explained("waits", "team")


def test_an_explanation_is_made_again_once_there_are_other_events(tmp_path: Path) -> None:
    first = seen(tmp_path, [*NODES, *WAITS, *RUNS])
    before = first.explained("runs", "team").document
    events = [event("runs", "Preempted", 1_767_269_000, "to rack r7")]
    later = view.of_reading(first.reading._replace(events=events), first)
    after = later.explained("runs", "team").document

    assert before is not None
    assert after is not None
    told_in = [
        any("to rack r7" in each.what for each in found.history or ()) for found in (before, after)
    ]
    assert [False, True] == told_in
