"""Flags of `run` reach the parts of the operator that they are for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import MagicMock, Mock, patch

import pytest

from gang_scheduler import wiring
from gang_scheduler.api import annotations
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.wiring import Parts
from support import builders, cache_feeding
from support.flags import settings_of_run

NOW = 1_767_268_800


@contextmanager
def built(*flags: str, **replaced: Mock) -> Iterator[tuple[Parts, FakeApi]]:
    """Build an operator of these flags on a fake API server, with parts replaced by name."""
    api, source = FakeApi(), MagicMock(not_served=(), forbidden=())
    with patch.multiple(wiring, KubernetesApi=lambda _: api, _source=lambda *_: source, **replaced):
        yield (
            wiring.build(
                *(settings_of_run(*flags), cast("Any", None)),
                watched_by=PodSource.KOPF,
                may_write=lambda: True,
                after_start=lambda: None,
            ),
            api,
        )


@pytest.mark.parametrize(
    ("flag", "part", "argument", "expected"),
    [
        ("--batch-milliseconds=250", "Loop", "batch_seconds", 0.25),
        ("--pod-event-seconds=7", "PodEvents", "stands_seconds", 7),
        ("--status-concurrency=3", "StatusWriter", "concurrency", 3),
    ],
)
def test_a_part_gets_the_value_of_its_flag(
    flag: str, part: str, argument: str, expected: float
) -> None:
    made = MagicMock()
    with built(flag, **{part: made}):
        assert expected == made.call_args.kwargs[argument]


@pytest.mark.parametrize(
    ("flag", "lease"),
    [
        ("--kueue-namespace=k", ("k", "c1f6bfd2.kueue.x-k8s.io")),
        ("--volcano-namespace=v", ("v", "volcano")),
    ],
)
async def test_the_lease_of_another_controller_is_looked_for_in_its_namespace(
    flag: str, lease: tuple[str, str]
) -> None:
    with built(flag) as (parts, api):
        await parts.quota_controllers.look()

    assert lease in {(call.namespace, call.name) for call in api.calls}


def test_so_many_checkpoints_of_a_gang_are_known() -> None:
    with built("--max-checkpoints=2") as (parts, _):
        cache = parts.cache
    cache_feeding.upsert_gang_specs(cache, "g", "u", [builders.gang_spec("a", 1)])
    for step in range(4):
        said = {
            annotations.CHECKPOINT_DONE_AT: rfc3339(NOW + step),
            annotations.CHECKPOINT_STEP: str(step),
        }
        cache.upsert_pod(builders.pod("a-0", gang="a", node="n", annotations=said))
        cache.checkpoints.take_in(NOW + step)

    assert [3, 2] == [each.step for each in cache.checkpoints.of(builders.gang_key("a")).saves]


@pytest.mark.parametrize("asks", [True, False])
def test_gangs_are_asked_over_http_and_for_so_long_as_flags_say(*, asks: bool) -> None:
    evictor, saving, client = MagicMock(), MagicMock(), MagicMock()
    flags = ("--checkpoint-http" if asks else "--no-checkpoint-http", "--max-checkpoint-seconds=9")
    with built(*flags, Evictor=evictor, Saving=saving, PodHttpClient=client):
        evictor.call_args.kwargs["saving"](MagicMock())

    assert (9, asks) == (saving.call_args.kwargs["most_seconds"], client.called)
