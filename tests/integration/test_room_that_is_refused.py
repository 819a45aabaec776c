"""A gang whose bindings are refused again and again does not keep the room that was made for it."""

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

REFUSED = ApiError(403, "namespace default is being terminated")


def refused(call: Call) -> Fault | None:
    """Refuse to bind pods of the gang `high`."""
    return Fault(REFUSED) if call.method == "bind" and call.name.startswith("high") else None


async def test_another_gang_gets_room_that_the_api_server_does_not_let_the_preemptor_use() -> None:
    made = FakeWorkloads("n1")
    made.gang("low", 4, priority=1, node="n1")
    made.gang("high", 4, priority=10)
    async with SchedulerProcess(made) as process:
        process.api.scripts = [refused]
        await process.until(lambda: 4 == len(made.nominated()))
        made.gang("other", 4, priority=5)

        await process.until(lambda: ["n1"] * 4 == made.nodes("other"))

        assert {} == made.nominated()
