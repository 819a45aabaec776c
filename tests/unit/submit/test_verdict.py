"""The answer of the SDK's `explain`, and what it says of Events that are not known."""

from unittest.mock import AsyncMock

import pytest

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection import live
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.settings.policy import Policy
from gang_scheduler.submit import verdict
from gang_scheduler.submit.gang_states import NoSuchGang
from support.in_memory_cluster import InMemoryCluster


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> InMemoryCluster:
    """Return a cluster with a gang that waits for members, as it is read."""
    made = InMemoryCluster()
    made.gang("llama", 2, 1)
    read = Cluster(made.cache, Policy(), made.now, Source.LIVE)
    monkeypatch.setattr(live, "read", AsyncMock(return_value=read))
    return made


@pytest.mark.usefixtures("town")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ApiError(403, "no"), "Events: they may not be listed"),
        (ApiError(503, "overloaded"), "Events: 503: overloaded"),
        (None, None),
    ],
)
async def test_events_that_are_not_known_are_named(
    monkeypatch: pytest.MonkeyPatch, error: ApiError | None, said: str | None
) -> None:
    monkeypatch.setattr(verdict, "events_of", AsyncMock(side_effect=error, return_value=()))

    text, document = await verdict.about_gang(AsyncMock(), "llama", "default")

    assert said == document.get("historyLacks")
    assert said is None or said.removeprefix("Events: ") in text


@pytest.mark.usefixtures("town")
async def test_a_name_that_is_no_gang_is_an_error() -> None:
    with pytest.raises(NoSuchGang):
        await verdict.about_gang(AsyncMock(), "other", "default")
