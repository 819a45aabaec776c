"""Choices of the settings on which no decision depends, and settings that are read as text."""

import enum
from typing import Annotated, Final

from pydantic import AfterValidator

from gang_scheduler.model.resources import parse_quantity

ENV_PREFIX: Final = "PGS_"
"""The prefix of all environment variables that are settings."""
KUEUE_NAMESPACE: Final = "kueue-system"
VOLCANO_NAMESPACE: Final = "volcano-system"


class OnPartialGang(enum.StrEnum):
    """How to treat the bound members of a gang whose other members find no room in time."""

    HOLD = "Hold"
    RELEASE = "Release"


class DegradedGangs(enum.StrEnum):
    """How to treat a gang that lost members and finds no room for replacements in its domain."""

    WAIT = "Wait"
    EVICT = "Evict"


class PodSource(enum.StrEnum):
    """How pods, nodes and all other kinds are watched."""

    KOPF = "kopf"
    REFLECTOR = "reflector"


class SourceSetting(enum.StrEnum):
    """Which source is used: a named one, or the one that suits the size of the cluster."""

    AUTO = "auto"
    KOPF = PodSource.KOPF
    REFLECTOR = PodSource.REFLECTOR


class HttpClientName(enum.StrEnum):
    """The HTTP client for all requests except watches."""

    BUILTIN = "builtin"
    AIOHTTP = "aiohttp"


class LogFormat(enum.StrEnum):
    """The format of log lines."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(enum.StrEnum):
    """The least level of log lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _shape(text: str) -> str:
    """Return the text with a member's requests. Raises ValueError if it is no such list."""
    for each in text.split(","):
        name, _, amount = each.partition("=")
        if not name:
            raise ValueError(f"{each!r} is not RESOURCE=QUANTITY")
        if parse_quantity(amount, 1000) <= 0:
            raise ValueError(f"{amount!r} is not above 0")
    return text


Shape = Annotated[str, AfterValidator(_shape)]
