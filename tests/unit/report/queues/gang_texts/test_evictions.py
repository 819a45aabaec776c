"""What is told of evictions: on the PodGroup, and by Events."""

import pytest

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.report.queues.gang_texts import EvictionTexts
from support.builders import gang_key
from support.evicted_gangs import AT, NOW, Cluster

RECLAIM, IN_QUEUE = EvictionClass.RECLAIM, EvictionClass.IN_QUEUE
A, B = gang_key("a"), gang_key("b")


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.run("a")
    made.run("b", queue="blue")
    return made


def texts(cluster: Cluster, naming: Naming | None = None) -> EvictionTexts:
    return EvictionTexts(cluster.cache, naming or Naming())


def test_a_gang_that_was_never_evicted_has_nothing_to_tell(cluster: Cluster) -> None:
    told = texts(cluster)

    assert told.status_of(A) is None
    assert told.finding(A) is None
    assert "Quota that was borrowed by queue red is taken back" == told.reclaimed(A)


def test_the_status_has_what_a_restart_needs(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    (link,) = cluster.records.of(A).yielded

    assert texts(cluster).status_of(A) == {
        "count": 1,
        "last": AT,
        "yieldedTo": [
            {
                "by": "default/b",
                "uid": "uid-b",
                "class": "Reclaim",
                "at": AT,
                "edition": link.edition,
            }
        ],
    }


def test_the_condition_and_the_event_say_for_whom_and_how_often(cluster: Cluster) -> None:
    cluster.evict({A: RECLAIM}, "b")
    cluster.evict({A: IN_QUEUE}, "b", at=NOW + 5)
    told = texts(cluster)

    found = told.finding(A)
    assert found is not None
    # The stronger class stays.
    assert ("Evicted", True, "Reclaim") == (found.type, found.status, found.reason)
    assert "2nd eviction: for default/b of queue blue" == found.message
    assert (
        "Quota that was borrowed by queue red is taken back for default/b of queue blue: "
        "2nd eviction of the gang"
    ) == told.reclaimed(A)


def test_names_of_other_namespaces_may_be_hidden(cluster: Cluster) -> None:
    cluster.run("x", namespace="other")
    key = gang_key("x", "other")
    cluster.evict({key: RECLAIM}, "b")
    told = texts(cluster, Naming(hides_foreign=True))

    found, status = told.finding(key), told.status_of(key)
    assert found is not None
    assert status is not None
    assert "1st eviction: for a gang of queue blue" == found.message
    assert ["uid-b"] == [each["by"] for each in status["yieldedTo"]]


def test_a_gang_of_another_namespace_without_an_object_is_not_named(cluster: Cluster) -> None:
    cluster.run("x", namespace="other")
    key = gang_key("x", "other")
    cluster.evict({key: RECLAIM}, "absent")

    status = texts(cluster, Naming(hides_foreign=True)).status_of(key)
    assert status is not None
    assert (1, []) == (status["count"], status["yieldedTo"])


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, "1st"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (22, "22nd"), (113, "113th")],
)
def test_the_number_of_evictions_is_said_as_people_do(
    cluster: Cluster, count: int, expected: str
) -> None:
    cluster.run("a", status={"evictions": {"count": count - 1}})
    cluster.evict({A: RECLAIM}, "b")

    found = texts(cluster).finding(A)

    assert found is not None
    assert found.message.startswith(f"{expected} eviction")
