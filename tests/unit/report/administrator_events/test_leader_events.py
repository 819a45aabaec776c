"""What is told of the Lease's holders, and on which object."""

from gang_scheduler.api.kinds import EVENTS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.leader_election import Predecessor, Sign
from gang_scheduler.report.administrator_events import LeaderEvents

LEASE = {"metadata": {"namespace": "ns", "name": "lease", "uid": "u1"}}


def notes(cluster: FakeCluster) -> list[str]:
    return [each["note"] for each in cluster.all(EVENTS)]


async def test_a_replica_that_follows_no_other_became_leader() -> None:
    cluster = FakeCluster()
    await LeaderEvents(FakeApi(cluster), "b_1", lambda: LEASE).began(None, 0.0)

    (event,) = cluster.all(EVENTS)
    assert "b_1 became leader" == event["note"]
    assert ("LeaderElection", "Normal") == (event["reason"], event["type"])
    regarding = {key: event["regarding"][key] for key in ("kind", "namespace", "name", "uid")}
    assert {"kind": "Lease", "namespace": "ns", "name": "lease", "uid": "u1"} == regarding


async def test_the_event_says_how_long_nothing_was_scheduled() -> None:
    cluster = FakeCluster()
    told = LeaderEvents(FakeApi(cluster), "b_1", lambda: LEASE)
    await told.began(Predecessor("a_1", Sign.RELEASED, 7.0), 0.84)
    await told.began(Predecessor("a_1", Sign.EXPIRED, 7.0), 10.52)

    assert [
        "b_1 became leader 0.8 s after a_1 released the Lease",
        "b_1 became leader 10.5 s after a_1 was last seen to renew the Lease",
    ] == sorted(notes(cluster))


async def test_the_event_says_that_a_replica_stopped_and_whether_the_next_must_wait() -> None:
    cluster = FakeCluster()
    told = LeaderEvents(FakeApi(cluster), "a_1", lambda: LEASE)
    await told.ended(released=True)
    await told.ended(released=False)

    assert [
        "a_1 stopped leading, and did not release the Lease: it has to run out",
        "a_1 stopped leading, and released the Lease",
    ] == sorted(notes(cluster))


async def test_an_event_that_cannot_be_written_does_no_harm() -> None:
    api = FakeApi()
    api.scripts = [lambda _: Fault(ApiError(403, "events are forbidden"))]

    await LeaderEvents(api, "a_1", lambda: LEASE).ended(released=True)


async def test_without_a_lease_there_is_nothing_that_an_event_could_be_about() -> None:
    cluster = FakeCluster()
    await LeaderEvents(FakeApi(cluster), "a_1", lambda: None).ended(released=False)

    assert not cluster.all(EVENTS)
