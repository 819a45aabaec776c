"""The deletion of gangs in part: see also the tests on a real API server."""

from gang_scheduler.apply.forced_deletions import PartialGangs
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders


async def test_no_deletion_is_sent_once_another_replica_may_lead() -> None:
    cache, api = Cache([builders.SCHEDULER], Changes()), FakeApi(FakeCluster())
    for number in range(3):
        cache.upsert_pod(builders.pod(f"a-{number}", gang="a", node="n1", phase="Running"))

    def leads() -> bool:
        return sum(call.method == "delete_pod" for call in api.calls) < 2

    await PartialGangs(api, cache, Writes(leads)).work(builders.gang_key("a"))

    assert ["a-0", "a-1"] == [call.name for call in api.calls]
