"""Chooses what watches the cluster by its size, where the setting leaves it open."""

from collections.abc import Mapping
from typing import Final

import anyio

from gang_scheduler.api.kinds import GVR, NODES, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.interfaces import Api
from gang_scheduler.settings.choices import PodSource, SourceSetting
from gang_scheduler.telemetry.logger import Logger

LARGE: Final[Mapping[GVR, int]] = {NODES: 1_000, PODS: 10_000}
"""From either number on, the start takes seconds longer with Kopf: see `tools.bench.start`."""
PATIENCE_SECONDS: Final = 5.0
"""How long to wait for the API server before the choice is made without it."""

log = Logger()


async def choose(setting: SourceSetting, api: Api) -> PodSource:
    """Return the source to use. It stays the same until the process ends.

    If the API server does not say how large the cluster is, it is the reflector: that suits all.
    """
    if setting is not SourceSetting.AUTO:
        return PodSource(setting)
    sizes: dict[str, int] = {}
    large, why = True, "no answer"
    try:
        with anyio.fail_after(PATIENCE_SECONDS):
            for gvr in LARGE:
                sizes[gvr.plural] = await api.count(gvr)
        large, why = any(sizes[gvr.plural] >= most for gvr, most in LARGE.items()), "size"
    except (ApiError, TimeoutError) as error:
        why = str(error) or why
    chosen = PodSource.REFLECTOR if large else PodSource.KOPF
    log.info("source_chosen", source=chosen.value, why=why, **sizes)
    return chosen
