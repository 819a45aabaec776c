"""What gangs report of their checkpoints: on pods and PodGroups, and as containers end.

Leniently: whatever is written there must hurt neither the gang nor others, so what cannot be read
says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.conditions import CHECKPOINT_REQUESTED
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.checkpoints import policies
from gang_scheduler.model.checkpoints import (
    GREATEST_STEP,
    LONGEST_PATH,
    CheckpointMode,
    CheckpointPolicy,
    Checkpoints,
    Outcome,
    PodCheckpoint,
    Request,
    Requested,
    Save,
)
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.containers import ContainerStatus

LONGEST_ID: Final = 64
MEANT_AS_REPORT: Final = '"checkpoint"'
"""What a termination message has in it that is to tell of a checkpoint."""
LONGEST_LATEST: Final = 16_384
MOST_READ: Final = 64
"""How many entries of a status are read."""
_KEYS: Final = frozenset(
    {
        annotations.CHECKPOINT_REQUESTED_AT,
        annotations.CHECKPOINT_DONE_AT,
        annotations.RESUME_COUNT,
    }
)
_NUMBER: Final = re.compile(r"[0-9]{1,16}")
_OUTCOMES: Final = {each.value: each for each in Outcome}


class _Told(msgspec.Struct, frozen=True):
    """What a gang tells of a checkpoint, in a termination message or as an answer over HTTP."""

    step: int | None = None
    path: str = ""


class _Message(msgspec.Struct, frozen=True):
    checkpoint: _Told


def of_pod(
    present: Mapping[str, str],
    statuses: Iterable[ContainerStatus],
    conditions: Iterable[Condition] = (),
) -> PodCheckpoint | None:
    """Return what a pod says of checkpoints; None for most."""
    statuses = tuple(statuses)
    ended, noted = _of_containers(statuses), _noted(conditions)
    wrong = next(_unreadable(statuses), "")
    says = ended or noted or wrong or not _KEYS.isdisjoint(present) or policies.says(present)
    if not says:
        return None
    policy = policies.readable(present)
    return PodCheckpoint(
        policy=policy,
        request=_request(present) or noted,
        save=_newest(of_annotations(present, policy), ended),
        resume_count=_number(present.get(annotations.RESUME_COUNT)) or 0,
        unreadable=wrong,
    )


def of_annotations(present: Mapping[str, str], policy: CheckpointPolicy | None) -> Save | None:
    """Return what annotations report, None if nothing. In mode HTTP the path is no checkpoint's."""
    done_at = _time(present.get(annotations.CHECKPOINT_DONE_AT))
    if not done_at:
        return None
    by_http = policy is not None and policy.mode is CheckpointMode.HTTP
    return Save(
        done_at,
        _number(present.get(annotations.CHECKPOINT_STEP)),
        "" if by_http else _path(present.get(annotations.CHECKPOINT_PATH)),
        _id(present.get(annotations.CHECKPOINT_REQUEST_ID)),
    )


def of_answer(body: bytes, done_at: int, request_id: str) -> Save | None:
    """Return what an answer over HTTP tells; None for one that cannot be read."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    step = _step(told.step)
    # What is told must be what is recorded: nothing is left out of an answer.
    if step != told.step or _path(told.path) != told.path:
        return None
    return Save(done_at, step, told.path, request_id)


def of_status(status: Mapping[str, Any]) -> Checkpoints | None:
    """Return what the status of a PodGroup remembers, None if nothing."""
    last = status.get("checkpoint")
    listed = status.get("checkpoints")
    if not isinstance(last, Mapping) and not isinstance(listed, list):
        return None
    found = last if isinstance(last, Mapping) else {}
    requested = _requested(found)
    entries = listed[:MOST_READ] if isinstance(listed, list) else []
    if found.get("outcome") != Outcome.SAVED:
        # The request is a later one than the save.
        found = {**found, "requestId": ""}
    saves = [save for each in (found, *entries) if (save := _save(each)) is not None]
    newest = sorted(dict.fromkeys(saves), key=lambda each: -each.done_at)
    return Checkpoints(_apart(newest), requested, _count(found.get("resumeCount")))


def of_latest(present: Mapping[str, str]) -> Checkpoints | None:
    """Return what the annotation of a Job remembers, None if nothing."""
    text = present.get(annotations.CHECKPOINT_LATEST)
    if not text or len(text) > LONGEST_LATEST:
        return None
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    save = _save(found)
    return None if save is None else Checkpoints((save,), None, _count(found.get("resumeCount")))


def _of_containers(statuses: Iterable[ContainerStatus]) -> Save | None:
    """Return the newest checkpoint that a container left behind as it ended."""
    found: Save | None = None
    for each in statuses:
        for state in (each.state, each.last_state):
            ended = state.terminated
            if ended is not None and ended.message:
                found = _newest(found, _of_message(ended.message, _time(ended.finished_at)))
    return found


def _unreadable(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Yield what is wrong with messages that are meant to report a checkpoint, and do not."""
    for each in statuses:
        message = each.state.terminated.message if each.state.terminated is not None else ""
        is_meant = message.lstrip().startswith("{") and MEANT_AS_REPORT in message
        if is_meant and (why := _why_unreadable(message)):
            yield f"the termination message of container {each.name} {why}"


def _why_unreadable(message: str) -> str:
    try:
        told = msgspec.json.decode(message, type=_Message).checkpoint
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return f"cannot be read: {error}"
    if _step(told.step) != told.step:
        return f"has a step that is not from 0 to {GREATEST_STEP}"
    if _path(told.path) != told.path:
        return f"has a path of more than {LONGEST_PATH} characters, or one that cannot be shown"
    return ""


def _of_message(message: str, done_at: int) -> Save | None:
    try:
        told = msgspec.json.decode(message, type=_Message).checkpoint
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return Save(done_at, _step(told.step), _path(told.path)) if done_at else None


def _newest(one: Save | None, other: Save | None) -> Save | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda each: each.done_at)


def _apart(saves: Iterable[Save]) -> tuple[Save, ...]:
    """Return saves without those that are like the one before."""
    kept: list[Save] = []
    for each in saves:
        if not (kept and (each.is_like(kept[-1]) or each.done_at == kept[-1].done_at)):
            kept.append(each)
    return tuple(kept)


def _save(found: object) -> Save | None:
    if not isinstance(found, Mapping):
        return None
    done_at, step = _time(found.get("doneAt")), found.get("step")
    if not done_at:
        return None
    return Save(
        done_at,
        _step(step),
        _path(found.get("path")),
        _id(found.get("requestId")),
        _id(found.get("workloadUid")),
    )


def _requested(found: Mapping[str, Any]) -> Requested | None:
    request_id, at = _id(found.get("requestId")), _time(found.get("requestedAt"))
    if not (request_id and at):
        return None
    return Requested(Request(request_id, at), _OUTCOMES.get(str(found.get("outcome"))))


def _request(present: Mapping[str, str]) -> Request | None:
    request_id = _id(present.get(annotations.CHECKPOINT_REQUEST_ID))
    at = _time(present.get(annotations.CHECKPOINT_REQUESTED_AT))
    return Request(request_id, at) if request_id and at else None


def _noted(conditions: Iterable[Condition]) -> Request | None:
    """Return the request that is made over HTTP, as the scheduler noted it."""
    for each in conditions:
        if (each.type, each.status) == (CHECKPOINT_REQUESTED, "True"):
            request_id, at = _id(each.message), _time(each.last_transition_time)
            return Request(request_id, at) if request_id and at else None
    return None


def _step(found: object) -> int | None:
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 <= found <= GREATEST_STEP else None


def _count(found: object) -> int:
    return _step(found) or 0


def _number(text: str | None) -> int | None:
    return _step(int(text)) if text is not None and _NUMBER.fullmatch(text) else None


def _path(found: object) -> str:
    """Return the name of a checkpoint; "" for one that is too long, or could not be shown."""
    is_name = isinstance(found, str) and len(found) <= LONGEST_PATH and found.isprintable()
    return str(found) if is_name else ""


def _id(found: object) -> str:
    return found if isinstance(found, str) and len(found) <= LONGEST_ID else ""


def _time(found: object) -> int:
    """Return a time in seconds since the epoch; 0 if it cannot be read."""
    try:
        return fields.timestamp(found) if isinstance(found, str) else 0
    except InvalidField:
        return 0
