"""What happened to a gang, and not to what had its name before."""

from gang_scheduler.inspection import files
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.explaining.history import Happened, history_of
from gang_scheduler.model.refs import GangKey
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation.documents import Document
from support.listed_clusters import gang

NOON = 1767268800
CREATED = "2026-01-01T12:00:00Z"
GANG = GangKey("PodGroup", "team", "a")


def cluster() -> Cluster:
    bodies = enumerate(gang("a", 2, created=CREATED))
    documents = [Document("cluster", number, body) for number, body in bodies]
    return files.loaded(documents, Policy(), at=NOON + 60)[0]


def told(*events: Happened, since: int = 0) -> list[str]:
    info = cluster().cache.gang_queue.infos[GANG]
    return [each.what for each in history_of(info, events, since)]


def test_events_are_told_in_their_order_beside_what_members_tell() -> None:
    late, early = Happened(NOON + 9, "Preempting: b"), Happened(NOON + 5, "FailedScheduling: a")

    assert ["complete: 2 members created", early.what, late.what] == told(late, early)


def test_events_about_an_object_of_that_name_that_is_gone_are_left_out() -> None:
    before = Happened(NOON - 1, "Scheduled: an earlier gang")

    assert ["complete: 2 members created"] == told(before)


def test_history_begins_where_it_is_asked_to() -> None:
    assert ["Preempting: b"] == told(Happened(NOON + 9, "Preempting: b"), since=NOON + 1)
