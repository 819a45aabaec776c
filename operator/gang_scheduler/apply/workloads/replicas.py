"""Numbers of replicas: read from workloads, changed by one patch, and lowered for preemptions.

A patch has the resourceVersion and uid of the object that was read, so that it overwrites no other
change. It changes the field, and the annotation `elastic-state` that says so.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gang_scheduler.api.annotations import ELASTIC_STATE
from gang_scheduler.api.kinds import AUTOSCALERS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.apply.preemption_run import Step
from gang_scheduler.apply.workloads import patches
from gang_scheduler.apply.workloads.patches import annotations_of
from gang_scheduler.apply.workloads.starts import WorkloadObjects
from gang_scheduler.client.backoff import Denials
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.interfaces import Api, Body
from gang_scheduler.client.writing import GIVE_UP_SECONDS, RACED, Refusal, Writes
from gang_scheduler.decode import fields
from gang_scheduler.model.gangs import (
    APART_SECONDS,
    MOST_EDITS,
    ChangeReason,
    Replicas,
    ReplicasChange,
    WrittenReplicas,
    signature,
)
from gang_scheduler.model.pods import Elastic, Pod
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.workloads import controllers, table
from gang_scheduler.workloads.kind import Path, value_at, whole_number

FIELD_MANAGER: Final = "py-gang-scheduler-elastic"
WRITE: Final = "replicas"
MOST_A_MINUTE: Final = 20
END_SECONDS: Final = 30.0
"""How long a controller gets to end the members that a lower number leaves no room for."""
LOOK_SECONDS: Final = 0.5
MOST_IN_VAIN: Final = 64

log = Logger()


# From an object. Pure.


def replicas_of(found: Body, kind: str, role: str, now: int) -> Replicas:
    """Return the number of replicas of a workload of a kind, and what wrote it last.

    `role` names its elastic workers; without such a role the number is 0. The number counts as
    edited if it is not the one in our annotation. `managedFields` shows which manager changed the
    field, and when; without such an entry the edit has no time, and `edited_at` is 0. `now` is in
    seconds: a change in the future was not written by us.
    """
    field = table.BY_REPLICAS[kind]
    path = field.path(found, role)
    number = 0 if path is None else field.number(found, path)
    written = _written(annotations_of(found).get(ELASTIC_STATE, ""), now)
    drops_highest = field.drops_highest(found)
    ends_named = field.ending is not None
    if written is None or written.workers == number:
        return Replicas(number, drops_highest, written, ends_named=ends_named)
    editor, at = _last_manager(found, path or ())
    return Replicas(number, drops_highest, written, at, editor, ends_named)


def is_stopped(found: Body, kind: str) -> bool:
    """Return whether a workload of a kind is suspended, is being deleted, or has ended."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    ended = any(
        each.get("type") in controllers.ENDED and each.get("status") == "True"
        for each in conditions
    )
    is_suspended = kind in table.SUSPENSIONS and patches.is_suspended(found, kind)
    return ended or is_suspended or "deletionTimestamp" in found["metadata"]


def _written(text: str, now: int) -> WrittenReplicas | None:
    """Return the content of an annotation; None without one, or if users have broken it."""
    try:
        state = fields.read_json("", text).value if text else None
        if not isinstance(state, dict):
            return None
        at = fields.timestamp(str(state.get("at", "")))
    except InvalidField:
        return None
    edits = _edits(state.get("edits"), now)
    workers, vain = whole_number(state.get("workers")), whole_number(state.get("vain", 0))
    if workers is None or vain is None or at > now + APART_SECONDS:
        return None
    why, stopped = (str(state.get(key, "")) for key in ("why", "stopped"))
    return WrittenReplicas(workers, at, why, min(vain, MOST_IN_VAIN), edits, stopped)


def _edits(found: object, now: int) -> tuple[int, ...]:
    """Return the last times in a list, in seconds, without invalid and future times."""
    moments: list[int] = []
    for each in found[-MOST_EDITS:] if isinstance(found, list) else ():
        try:
            moments.append(fields.timestamp(str(each)))
        except InvalidField:
            continue
    return tuple(each for each in moments if 0 < each <= now)


def _last_manager(found: Body, path: Path) -> tuple[str, int]:
    """Return the manager that changed a field last, and when in seconds; "" and 0 if unknown."""
    last = ("", 0)
    for each in found["metadata"].get("managedFields") or ():
        if each.get("manager") == FIELD_MANAGER or not _has(each.get("fieldsV1"), path):
            continue
        try:
            at = fields.timestamp(each.get("time") or "")
        except InvalidField:
            at = 0
        if at >= last[1]:
            last = (str(each.get("manager", "")), at)
    return last


def _has(owned: object, path: Path) -> bool:
    """Return whether a manager owns a field, or the whole list that the field is in."""
    for step in path:
        if isinstance(step, int):
            break
        owned = owned.get(f"f:{step}") if isinstance(owned, Mapping) else None
    return owned is not None


def is_full(lately: Sequence[float], now: float) -> bool:
    """Return whether the last MOST_A_MINUTE changes were made within a minute."""
    return len(lately) >= MOST_A_MINUTE and now - lately[-MOST_A_MINUTE] < 60


class Resizer:
    """Reads workloads and changes their numbers of replicas, at most MOST_A_MINUTE in all."""

    def __init__(self, api: Api, *, writes: Writes, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._objects = WorkloadObjects(api)
        self._writes = writes
        self._clock = clock
        self._lately: deque[float] = deque(maxlen=MOST_A_MINUTE)
        self.hands_off: set[str] = set()
        """The uids of workloads that others change: nothing is written to them."""

    @property
    def is_busy(self) -> bool:
        """Whether MOST_A_MINUTE changes were made in the last minute."""
        return is_full(self._lately, self._clock())

    async def read(self, workload: ManagedWorkload) -> Body:
        """Return the object, if it is still the same workload. Raises ApiError, GONE if not."""
        found = await self._objects.read(workload)
        if found["metadata"]["uid"] != workload.uid:
            raise ApiError(404, f"{workload.name} is another workload now")
        return found

    async def autoscaler_of(self, workload: ManagedWorkload) -> str:
        """Return the name of a HorizontalPodAutoscaler that targets a workload; "" for none.

        Raises ApiError, also if these may not be listed.
        """
        try:
            found = await self._api.objects(AUTOSCALERS, workload.namespace)
        except ApiError as error:
            if error.kind is Kind.GONE:
                return ""
            raise
        group = table.PATCHED[workload.kind].versions[0].group
        names = (each["metadata"]["name"] for each in found if _targets(each, workload, group))
        return min(names, default="")

    async def resize(
        self, workload: ManagedWorkload, role: str, found: Body, change: ReplicasChange
    ) -> Refusal | None:
        """Write a change if the object has not changed since it was read; return the refusal.

        A write without an answer is repeated. If it came through, the repetition is a conflict, and
        the next reading shows the change.
        """
        return await self._writes.send(
            *(WRITE, lambda: self.write(workload, role, found, change)),
            about=workload.kind,
            seconds=GIVE_UP_SECONDS,
        )

    async def leave_alone(
        self, workload: ManagedWorkload, found: Body, written: WrittenReplicas
    ) -> Refusal | None:
        """Note on the object that others changed it too often; return why the write failed."""
        patch = patches.leaving_alone(found, written)
        return await self._writes.send(
            *(WRITE, lambda: self._objects.patch(workload, patch, manager=FIELD_MANAGER)),
            about=workload.kind,
            seconds=GIVE_UP_SECONDS,
        )

    async def write(
        self, workload: ManagedWorkload, role: str, found: Body, change: ReplicasChange
    ) -> None:
        """Send the patch of a change once. Raises ApiError."""
        now = self._clock()
        self._lately.append(now)
        patch = patches.resizing(found, workload.kind, role, change, int(now))
        await self._objects.patch(workload, patch, manager=FIELD_MANAGER)
        log.info(
            "replicas_changed",
            workload=str(workload),
            before=change.before,
            after=change.after,
            why=change.why.value,
        )


def _targets(autoscaler: Body, workload: ManagedWorkload, group: str) -> bool:
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    there = str(target.get("apiVersion", "")).rpartition("/")[0]
    return (target.get("kind"), target.get("name"), there) == (workload.kind, workload.name, group)


def workload_of(info: GangInfo) -> ManagedWorkload | None:
    """Return the workload whose replicas are changed for a gang; None for any other gang."""
    spec, elastic = info.observed.spec, info.observed.elastic
    if spec is None or elastic is None or not elastic.by_replicas:
        return None
    return ManagedWorkload(info.key.source, info.key.namespace, info.key.name, spec.uid)


# Victims that a lower number of replicas ends: no pod of them is deleted, and its controller
# creates none in their place and counts no failure.


class Shrinking:
    """Makes the steps that lower the numbers of replicas for preemptions.

    A number is lowered only if the controller then ends exactly the victims: it reads their names,
    or they are the members with the highest ranks. Victims that the controller has not ended after
    END_SECONDS are deleted, and so are all other victims. `kinds` are the workload kinds that the
    settings allow.
    """

    def __init__(
        self,
        cache: Cache,
        resizer: Resizer,
        kinds: Collection[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._resizer = resizer
        self._kinds = kinds
        self._clock = clock
        self._denials = Denials()
        self._lately: deque[float] = deque(maxlen=MOST_A_MINUTE)

    def concerns(self, keys: Iterable[GangKey]) -> bool:
        """Return whether the numbers of replicas of any of these gangs may be lowered."""
        infos = self._cache.gang_queue.infos
        found = (workload_of(infos[key]) for key in keys if key in infos)
        return any(each is not None and each.kind in self._kinds for each in found)

    def steps(
        self, victims: Sequence[Pod], begun: set[str], eviction: Callable[[Pod], Step]
    ) -> Iterator[Step]:
        """Yield a step for each gang whose number is lowered; the step has its first victim.

        `begun` gets the uids of all of them before the first request. `eviction` is the step that
        deletes one pod.
        """
        by_gang: dict[GangKey, list[Pod]] = {}
        for pod in victims if self._kinds else ():
            by_gang.setdefault(pod.gang, []).append(pod)
        for key, pods in by_gang.items():
            info = self._cache.gang_queue.infos.get(key)
            workload = None if info is None else workload_of(info)
            elastic = None if info is None else info.observed.elastic
            if info is None or workload is None or elastic is None:
                continue
            if workload.kind in self._kinds and (left := _left_of(info, elastic, pods)):
                shrunk = _Shrunk(workload, elastic, tuple(pods), left)
                yield self._step(shrunk, begun, eviction)

    def _step(self, shrunk: "_Shrunk", begun: set[str], eviction: Callable[[Pod], Step]) -> Step:
        async def shrink(_: PodRef) -> None:
            if await self._is_lowered(shrunk):
                await self._end_of(shrunk.pods)
            for pod in filter(self._stays, shrunk.pods):
                await _delete(eviction(pod))

        others = frozenset(pod.uid for pod in shrunk.pods[1:])
        return Step("shrink", shrunk.pods[0], shrink, RACED, begun, final=True, also_ended=others)

    async def _is_lowered(self, shrunk: "_Shrunk") -> bool:
        """Lower the number of replicas; return whether that ends the victims. Raises ApiError."""
        workload, role = shrunk.workload, shrunk.elastic.role
        try:
            found = await self._resizer.read(workload)
            now = int(self._clock())
            present = replicas_of(found, workload.kind, role, now)
            if shrunk.is_written(found, present):
                return True  # An earlier request came through.
            change = shrunk.change(present)._replace(edits=present.edits(now))
            is_left_alone = (
                written := present.written
            ) is not None and written.stopped == signature(shrunk.elastic)
            if is_left_alone or not self._may_lower(found, workload.kind, present, change, now):
                return False
            if await self._resizer.autoscaler_of(workload):
                return False
            self._lately.append(self._clock())
            await self._resizer.write(workload, role, found, change)
        except ApiError as error:
            refused = error.kind in (Kind.GONE, Kind.REFUSED, Kind.DENIED)
            if not refused or self._denials.may_pass(error, workload.uid):
                raise
            log.warning("replicas_refused", workload=str(workload), error=str(error))
            return False
        return True

    def _may_lower(
        self, found: Body, kind: str, present: Replicas, change: ReplicasChange, now: int
    ) -> bool:
        """Return whether a lower number is ours to write, and ends the victims."""
        if found["metadata"]["uid"] in self._resizer.hands_off or is_stopped(found, kind):
            return False
        ends_victims = present.drops_highest or present.ends_named
        lowers = ends_victims and 0 < change.after < present.number
        # Changes that gangs of others make for themselves do not count: they would have the pods of
        # this one deleted, which may count as failures.
        return lowers and not present.is_fresh(now) and not is_full(self._lately, self._clock())

    async def _end_of(self, pods: Sequence[Pod]) -> None:
        """Return once the controller has ended all of the pods, or its time is over."""
        clock = asyncio.get_running_loop().time
        until = clock() + END_SECONDS
        # Pods leave the cache as the watch shows it: no event tells of one pod.
        while any(map(self._stays, pods)) and clock() < until:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)

    def _stays(self, pod: Pod) -> bool:
        found = self._cache.pod(pod.uid)
        return found is not None and found.living


async def _delete(step: Step) -> None:
    """Delete a pod, unless it is gone or another one by now. Raises ApiError."""
    pod = step.pod
    try:
        await step.request(PodRef(pod.namespace, pod.name, pod.uid))
    except ApiError as error:
        if error.kind not in (Kind.GONE, Kind.CONFLICT):
            raise


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """A workload that loses `pods` by a lower number of replicas.

    It has `left` replicas after that if the controller ends the pods with the highest indexes.
    """

    workload: ManagedWorkload
    elastic: Elastic
    pods: tuple[Pod, ...]
    left: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the victims, in order."""
        return tuple(sorted(pod.name for pod in self.pods))

    def change(self, present: Replicas) -> ReplicasChange:
        """Return the change that ends the victims; to 0 replicas if there is none."""
        vain = 0 if present.written is None else present.written.vain
        if not present.ends_named:
            return ReplicasChange(present.number, self.left, ChangeReason.PREEMPTED, vain)
        after = present.number - len(self.pods)
        after = after if after >= self.elastic.min_workers else 0
        return ReplicasChange(present.number, after, ChangeReason.PREEMPTED, vain, self.names)

    def is_written(self, found: Body, present: Replicas) -> bool:
        """Return whether the change was written before."""
        field, written = table.BY_REPLICAS[self.workload.kind], present.written
        if written is None or written.workers != present.number:
            return False
        if field.ending is None:
            return present.number <= self.left
        path = field.path(found, self.elastic.role)
        named = None if path is None else value_at(found, field.ending(path))
        return isinstance(named, list) and set(self.names) <= set(named)


def _left_of(info: GangInfo, elastic: Elastic, victims: Sequence[Pod]) -> int:
    """Return the number of replicas by which the controller ends exactly these victims; 0 for none.

    Only workers on nodes count. If the controller ends the workers with the highest indexes, the
    workers of lower indexes stay.
    """
    if not all(map(elastic.counts, victims)):
        return 0
    going = {pod.uid for pod in victims}
    workers = filter(elastic.counts, info.observed.with_node())
    others = [pod for pod in workers if pod.uid not in going]
    if table.BY_REPLICAS[info.key.source].ending is not None:
        return len(others) if len(others) >= elastic.min_workers else 0
    left = min(map(_index_of, victims))
    is_highest = left >= elastic.min_workers and all(0 <= _index_of(pod) < left for pod in others)
    return left if is_highest else 0


def _index_of(pod: Pod) -> int:
    """Return the index of a worker among the workers of its workload, -1 if it has none."""
    if pod.rank:
        return pod.rank[-1]
    ordinal = pod.name.removeprefix(f"{pod.stateful_set}-") if pod.stateful_set else ""
    return int(ordinal) if ordinal.isascii() and ordinal.isdigit() else -1
