"""How gangs are told to save their work, as PodGroups, Jobs and pod templates say it."""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode.durations import duration
from gang_scheduler.decode.fields import field
from gang_scheduler.model.checkpoints import BY_SIGNAL, CheckpointMode, CheckpointPolicy

LEAST_PORT, GREATEST_PORT = 1024, 65535
_PATH: Final = re.compile(r"/[A-Za-z0-9/._~-]{0,255}")
_KEYS: Final = frozenset(
    {annotations.CHECKPOINT, annotations.CHECKPOINT_TIMEOUT, annotations.CHECKPOINT_PORT}
)
_MODES: Final = {each.value: each for each in CheckpointMode}


def says(present: Mapping[str, str]) -> bool:
    """Return whether annotations say how a gang saves its work: cheap, and False for most."""
    return not _KEYS.isdisjoint(present)


def policy_of(present: Mapping[str, str]) -> CheckpointPolicy | None:
    """Return the policy in annotations, None if they have none. Raises InvalidField for all."""
    if not says(present):
        return None
    faults = Faults()
    mode = faults.read(lambda: _mode(present), BY_SIGNAL.mode)
    by_http = mode is CheckpointMode.HTTP
    found = CheckpointPolicy(
        mode=mode,
        timeout_seconds=faults.read(
            lambda: duration(present, annotations.CHECKPOINT_TIMEOUT), None
        ),
        port=faults.read(lambda: _port(present, required=by_http), 0),
        path=faults.read(lambda: _path(present), "/") if by_http else "/",
    )
    faults.check()
    return found


def readable(present: Mapping[str, str]) -> CheckpointPolicy | None:
    """Return the same, None also for what cannot be read: of pods that run already."""
    try:
        return policy_of(present)
    except InvalidField:
        return None


def _mode(present: Mapping[str, str]) -> CheckpointMode:
    text = present.get(annotations.CHECKPOINT, BY_SIGNAL.mode.value)
    if text not in _MODES:
        must = f"must be one of {', '.join(_MODES)}"
        raise InvalidField(field(annotations.CHECKPOINT), text, must)
    return _MODES[text]


def _port(present: Mapping[str, str], *, required: bool) -> int:
    where, text = field(annotations.CHECKPOINT_PORT), present.get(annotations.CHECKPOINT_PORT)
    if text is None:
        if required:
            raise InvalidField(where, None, f"is required beside {annotations.CHECKPOINT}: HTTP")
        return 0
    if not re.fullmatch(r"[0-9]{1,5}", text) or not LEAST_PORT <= int(text) <= GREATEST_PORT:
        must = f"must be a port from {LEAST_PORT} to {GREATEST_PORT}"
        raise InvalidField(where, text, must)
    return int(text)


def _path(present: Mapping[str, str]) -> str:
    text = present.get(annotations.CHECKPOINT_PATH, "/")
    if not _PATH.fullmatch(text):
        must = "must be a path such as /checkpoint, of letters, digits and / . _ ~ -"
        raise InvalidField(field(annotations.CHECKPOINT_PATH), text, must)
    return text
