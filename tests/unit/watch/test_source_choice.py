"""What watches the cluster, where the setting leaves it open."""

import anyio
import pytest
from structlog.testing import capture_logs

from gang_scheduler.api.kinds import GVR, NODES, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.settings.choices import PodSource, SourceSetting
from gang_scheduler.watch import source_choice

NODES_OF_A_LARGE_CLUSTER = source_choice.LARGE[NODES]
PODS_OF_A_LARGE_CLUSTER = source_choice.LARGE[PODS]


class Sized(FakeApi):
    """A cluster with so many objects."""

    def __init__(self, nodes: int, pods: int) -> None:
        super().__init__()
        self._numbers = {NODES: nodes, PODS: pods}

    async def count(self, gvr: GVR) -> int:
        """Return how many objects of a kind there are."""
        return self._numbers[gvr]


class Silent(FakeApi):
    """An API server that says nothing, or that it may not."""

    def __init__(self, error: ApiError | None = None) -> None:
        super().__init__()
        self._error = error

    async def count(self, gvr: GVR) -> int:
        """Raise the error, or wait for ever."""
        if self._error:
            raise self._error
        await anyio.sleep_forever()
        raise AssertionError(gvr)


@pytest.mark.parametrize(
    ("nodes", "pods", "expected"),
    [
        (0, 0, PodSource.KOPF),
        (NODES_OF_A_LARGE_CLUSTER - 1, PODS_OF_A_LARGE_CLUSTER - 1, PodSource.KOPF),
        (NODES_OF_A_LARGE_CLUSTER, 0, PodSource.REFLECTOR),
        (3, PODS_OF_A_LARGE_CLUSTER, PodSource.REFLECTOR),
    ],
)
async def test_a_large_cluster_is_watched_by_the_reflector(
    nodes: int, pods: int, expected: PodSource
) -> None:
    with capture_logs() as lines:
        chosen = await source_choice.choose(SourceSetting.AUTO, Sized(nodes, pods))

    (line,) = lines
    assert expected is chosen
    assert ("source_chosen", expected.value, "size") == (line["event"], line["source"], line["why"])
    assert (nodes, pods) == (line["nodes"], line["pods"])


@pytest.mark.parametrize("setting", [SourceSetting.KOPF, SourceSetting.REFLECTOR])
async def test_a_source_that_is_named_is_used_and_nothing_is_asked(setting: SourceSetting) -> None:
    chosen = await source_choice.choose(setting, Silent())

    assert setting.value == chosen.value


@pytest.mark.parametrize("error", [ApiError(403, "nodes is forbidden"), None])
async def test_without_an_answer_it_is_what_suits_every_size(
    error: ApiError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_choice, "PATIENCE_SECONDS", 0.01)
    with capture_logs() as lines:
        chosen = await source_choice.choose(SourceSetting.AUTO, Silent(error))

    assert PodSource.REFLECTOR is chosen
    assert [str(error or "no answer")] == [each["why"] for each in lines]
