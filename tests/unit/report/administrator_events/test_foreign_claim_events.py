"""The Event of a claim that another scheduler has allocated where ours have devices."""

from gang_scheduler.api.kinds import EVENTS, RESOURCE_CLAIMS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.decode.devices.objects import decode_claim
from gang_scheduler.model.plan import Plan
from gang_scheduler.report.administrator_events import DEVICES_OF_TWO
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, device_objects, parts


async def test_a_claim_of_another_scheduler_on_a_pool_of_ours_gets_an_event_once() -> None:
    api, cache = FakeApi(), Cache([builders.SCHEDULER], Changes())
    events = parts.events(api, lambda: 0)
    gang_events = parts.gang_events(cache, events)
    ours = device_objects.allocated(device_objects.claim("ours"), "n0", "gpu-0", pods=("p",))
    theirs = device_objects.claim("theirs")
    bodies = (
        device_objects.marked(ours),
        theirs,
        device_objects.allocated(theirs, "n0", "gpu-1", pods=("q",)),
    )
    for body in bodies:
        cache.devices.upsert(RESOURCE_CLAIMS, decode_claim(body))

    for _ in range(2):
        gang_events.planned(Plan(), 0)
    while len(events._queue):
        await events._send(events.take())

    (event,) = api.cluster.all(EVENTS)
    assert ("theirs", DEVICES_OF_TWO) == (event["regarding"]["name"], event["reason"])
