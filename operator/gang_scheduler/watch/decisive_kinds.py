"""The kinds that gangs are decided by: they are always served, and never long out of date."""

from typing import Final

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.client.errors import ApiError

DECISIVE: Final = frozenset({NODES.name, PODS.name})


def require_absent(name: str) -> None:
    """Raise ApiError for a kind that is always served: what answered was no API server yet.

    Believed, that would be an empty cluster, and all of its room would be given away.
    """
    if name in DECISIVE:
        raise ApiError(0, f"{name} are not served")
