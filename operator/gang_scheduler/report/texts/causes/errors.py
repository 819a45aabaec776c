"""The words for errors of ours."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.causes.errors import InternalError
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (entry(InternalError, lambda it: f"an error in the scheduler: {it.kind}: {it.text}"),)
)
