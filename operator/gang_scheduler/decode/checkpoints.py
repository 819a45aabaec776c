"""Checkpoints, as reported in annotations, statuses, HTTP answers and termination messages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.conditions import CHECKPOINT_REQUESTED
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode.fields import duration, timestamp_or_zero
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import (
    BY_SIGNAL,
    GREATEST_STEP,
    LONGEST_PATH,
    CheckpointMode,
    CheckpointPolicy,
    Checkpoints,
    PodCheckpoint,
    Request,
    Requested,
    Save,
)
from gang_scheduler.model.wording import field
from gang_scheduler.wire.base import Condition
from gang_scheduler.wire.pods import ContainerStatus

# The policy by which a gang saves its work, from PodGroups, Jobs and pod templates. It is read
# strictly: an unknown mode makes the gang invalid, since its pods must not be evicted as if it had
# no policy.

LEAST_PORT, GREATEST_PORT = 1024, 65535
_PATH: Final = re.compile(r"/[A-Za-z0-9/._~-]{0,255}")
_KEYS: Final = frozenset(
    {annotations.CHECKPOINT, annotations.CHECKPOINT_TIMEOUT, annotations.CHECKPOINT_PORT}
)
_MODES: Final = {each.value: each for each in CheckpointMode}


def says_policy(present: Mapping[str, str]) -> bool:
    """Return whether annotations have a policy on checkpoints: cheap, and False for most."""
    return not _KEYS.isdisjoint(present)


def policy_of(present: Mapping[str, str]) -> CheckpointPolicy | None:
    """Return the policy in annotations; None without one. Raises InvalidField with all faults."""
    if not says_policy(present):
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
    """Return the checkpoint policy of a running pod, or None if its annotations are invalid."""
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
            raise InvalidField(where, None, f"is required with {annotations.CHECKPOINT}: HTTP")
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


# Reports of gangs on their checkpoints: on pods and PodGroups, and in the termination messages of
# containers. They are read leniently: no text there may hurt the gang or others, so an unreadable
# report counts as no report.

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The id of a request or a workload. It is sent in a header, which other signs would break."""
MEANT_AS_REPORT: Final = '"checkpoint"'
"""A termination message that contains this is meant to report a checkpoint."""
LONGEST_LATEST: Final = 16_384
MOST_READ: Final = 64
"""At most this many entries of a status are read."""
_REPORT_KEYS: Final = frozenset(
    {
        annotations.CHECKPOINT_REQUESTED_AT,
        annotations.CHECKPOINT_DONE_AT,
        annotations.RESUME_COUNT,
    }
)
_NUMBER: Final = re.compile(r"[0-9]{1,16}")
_OUTCOMES: Final = {each.value: each for each in CheckpointOutcome}


class _SaveReport(msgspec.Struct, frozen=True):
    """The report of a gang on a checkpoint, in a termination message or an HTTP answer."""

    step: int | None = None
    path: str = ""


class _Message(msgspec.Struct, frozen=True):
    checkpoint: _SaveReport


def of_pod(
    present: Mapping[str, str],
    statuses: Iterable[ContainerStatus],
    conditions: Iterable[Condition] = (),
) -> PodCheckpoint | None:
    """Return the reports of a pod on checkpoints; None for most pods."""
    statuses = tuple(statuses)
    ended, noted = _of_containers(statuses), _noted(conditions)
    wrong = next(_unreadable(statuses), "")
    says = ended or noted or wrong or not _REPORT_KEYS.isdisjoint(present) or says_policy(present)
    if not says:
        return None
    policy = readable(present)
    return PodCheckpoint(
        policy=policy,
        request=_request(present) or noted,
        save=_newest(of_annotations(present, policy), ended),
        resume_count=_number(present.get(annotations.RESUME_COUNT)) or 0,
        unreadable=wrong,
    )


def of_annotations(present: Mapping[str, str], policy: CheckpointPolicy | None) -> Save | None:
    """Return the report in annotations, None without one.

    In mode HTTP, the annotation has the path of the request, so the report has no path.
    """
    done_at = timestamp_or_zero(present.get(annotations.CHECKPOINT_DONE_AT))
    if not done_at:
        return None
    by_http = policy is not None and policy.mode is CheckpointMode.HTTP
    return Save(
        done_at,
        _number(present.get(annotations.CHECKPOINT_STEP)),
        "" if by_http else _report_path(present.get(annotations.CHECKPOINT_PATH)),
        _id(present.get(annotations.CHECKPOINT_REQUEST_ID)),
    )


def of_answer(body: bytes, done_at: int, request_id: str) -> Save | None:
    """Return the report in an HTTP answer; None for an invalid answer."""
    try:
        report = msgspec.json.decode(body, type=_SaveReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    step = _step(report.step)
    # The record must equal the report: no part of an answer is left out.
    if step != report.step or _report_path(report.path) != report.path:
        return None
    return Save(done_at, step, report.path, request_id)


def of_status(status: Mapping[str, Any]) -> Checkpoints | None:
    """Return the checkpoints in the status of a PodGroup; None without any."""
    last = status.get("checkpoint")
    listed = status.get("checkpoints")
    if not isinstance(last, Mapping) and not isinstance(listed, list):
        return None
    found = last if isinstance(last, Mapping) else {}
    requested = _requested(found)
    entries = listed[:MOST_READ] if isinstance(listed, list) else []
    if found.get("outcome") != CheckpointOutcome.SAVED:
        # The request was made after the save, so the save does not answer it.
        found = {**found, "requestId": ""}
    saves = [save for each in (found, *entries) if (save := _save(each)) is not None]
    newest = sorted(dict.fromkeys(saves), key=lambda each: -each.done_at)
    return Checkpoints(_apart(newest), requested, _count(found.get("resumeCount")))


def of_latest(present: Mapping[str, str]) -> Checkpoints | None:
    """Return the checkpoint in the annotation of a Job; None without one."""
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
    """Return the newest checkpoint reported by a container when it ended."""
    found: Save | None = None
    for each in statuses:
        for state in (each.state, each.last_state):
            ended = state.terminated
            if ended is not None and ended.message:
                ended_at = timestamp_or_zero(ended.finished_at)
                found = _newest(found, _of_message(ended.message, ended_at))
    return found


def _unreadable(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Yield the faults of messages that are meant to report a checkpoint but do not."""
    for each in statuses:
        message = each.state.terminated.message if each.state.terminated is not None else ""
        is_meant = message.lstrip().startswith("{") and MEANT_AS_REPORT in message
        if is_meant and (why := _why_unreadable(message)):
            yield f"the termination message of container {each.name} {why}"


def _why_unreadable(message: str) -> str:
    try:
        report = msgspec.json.decode(message, type=_Message).checkpoint
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return f"cannot be read: {error}"
    if _step(report.step) != report.step:
        return f"has a step that is not from 0 to {GREATEST_STEP}"
    if _report_path(report.path) != report.path:
        return f"has a path of more than {LONGEST_PATH} characters, or one that cannot be shown"
    return ""


def _of_message(message: str, done_at: int) -> Save | None:
    try:
        report = msgspec.json.decode(message, type=_Message).checkpoint
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return Save(done_at, _step(report.step), _report_path(report.path)) if done_at else None


def _newest(one: Save | None, other: Save | None) -> Save | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda each: each.done_at)


def _apart(saves: Iterable[Save]) -> tuple[Save, ...]:
    """Return the saves, leaving out each that repeats the one before it."""
    kept: list[Save] = []
    for each in saves:
        if not (kept and (each.is_like(kept[-1]) or each.done_at == kept[-1].done_at)):
            kept.append(each)
    return tuple(kept)


def _save(found: object) -> Save | None:
    if not isinstance(found, Mapping):
        return None
    done_at, step = timestamp_or_zero(found.get("doneAt")), found.get("step")
    if not done_at:
        return None
    return Save(
        done_at,
        _step(step),
        _report_path(found.get("path")),
        _id(found.get("requestId")),
        _id(found.get("workloadUid")),
    )


def _requested(found: Mapping[str, Any]) -> Requested | None:
    request_id, at = _id(found.get("requestId")), timestamp_or_zero(found.get("requestedAt"))
    if not (request_id and at):
        return None
    return Requested(Request(request_id, at), _OUTCOMES.get(str(found.get("outcome"))))


def _request(present: Mapping[str, str]) -> Request | None:
    request_id = _id(present.get(annotations.CHECKPOINT_REQUEST_ID))
    at = timestamp_or_zero(present.get(annotations.CHECKPOINT_REQUESTED_AT))
    return Request(request_id, at) if request_id and at else None


def _noted(conditions: Iterable[Condition]) -> Request | None:
    """Return the request made over HTTP, which the scheduler noted in a condition of the pod."""
    for each in conditions:
        if (each.type, each.status) == (CHECKPOINT_REQUESTED, "True"):
            request_id, at = _id(each.message), timestamp_or_zero(each.last_transition_time)
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


def _report_path(found: object) -> str:
    """Return the name of a checkpoint; "" for one that is too long or unprintable."""
    is_name = isinstance(found, str) and len(found) <= LONGEST_PATH and found.isprintable()
    return str(found) if is_name else ""


def _id(found: object) -> str:
    return found if isinstance(found, str) and _ID.fullmatch(found) else ""
