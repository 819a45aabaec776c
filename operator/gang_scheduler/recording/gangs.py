"""Makes the lines of a recording about gangs: one when a gang is complete, one when it has ended.

Only gangs that have changed since the last look are read. Linear in these gangs.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model.pods import Pod, VirtualPods, numbers_by, one_of_each
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU, MEMORY, quantity_of
from gang_scheduler.recording.file_format import End, Gang, Line
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC
from gang_scheduler.workloads import table

ENDED: Final = frozenset({Phase.FINISHED, Phase.FAILED})
DELETED: Final = "Deleted"
"""The state at the end of a gang that was deleted before it had finished."""
GPU_TYPE: Final = "nvidia.com/gpu.product"
"""The node label with the type of the GPUs."""


class Size(NamedTuple):
    """The requests of a pod, as far as a replay knows them."""

    gpu: int
    cpu: int
    memory: int
    gpu_type: str


@dataclass(slots=True)
class _Known:
    """A gang that was recorded and has not ended."""

    id: int
    uid: str
    submit: int
    pods: int
    is_whole: bool = False
    started: int | None = None
    stopped: int | None = None
    evictions: int = 0


class Gangs:
    """Makes the lines about gangs."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._gpus = cache.queues.rules.gpu_resources
        self._known: dict[GangKey, _Known] = {}
        self._earlier: dict[GangKey, _Known] = {}
        self._over: dict[GangKey, str] = {}
        self._number = 0

    def start_over(self) -> None:
        """Forget which gangs were recorded: the next file begins with all present gangs."""
        self._earlier, self._known = {**self._earlier, **self._known}, {}
        self._number = 0

    def lines(self, keys: Collection[GangKey], now: int) -> Iterator[Line]:
        """Yield the new lines about these gangs. Linear in their members."""
        infos = self._cache.gang_queue.infos
        came: list[tuple[int, GangKey, GangInfo]] = []
        gone = (self._known.keys() | self._over.keys()) - infos.keys()
        for key in sorted(gone.union(keys)):
            info = infos.get(key)
            yield from self._gone_on(key, info, now)
            if info is not None and key not in self._known and self._is_to_come(info):
                came.append((self._submitted(info, now), key, info))
        # In the order of their age, so that gangs of equal age have a fixed order.
        for submit, key, info in sorted(came, key=lambda each: each[:2]):
            if infos.get(key) is not info or not self._is_to_come(info):
                continue  # It has changed since, where lines are made a few at a time.
            yield Line(at=now, gang=self._begin(key, info, submit))
            self._note(self._known[key], info, now)
        if self._earlier:
            # Gangs that are incomplete now are recorded again once they are complete.
            still = self._earlier.keys() & infos.keys() - self._known.keys()
            self._earlier = {key: self._earlier[key] for key in still}

    # Gangs that are recorded.

    def _gone_on(self, key: GangKey, info: GangInfo | None, now: int) -> Iterator[Line]:
        """Update a recorded gang; yield its end if it has ended."""
        known = self._known.get(key)
        if info is None:
            self._over.pop(key, None)
            if known is not None:
                yield self._end(key, known, DELETED, now)
            return
        if known is None:
            return
        if (uid := _uid_of(info)) and known.uid and uid != known.uid:
            # Another gang has its name now.
            yield self._end(key, known, DELETED, now)
            return
        phase = phases.phase_of(phases.counts_of(info))
        if phase in ENDED:
            yield self._end(key, known, phase.value, now)
            self._over[key] = _uid_of(info)
        else:
            self._note(known, info, now)

    def _note(self, known: _Known, info: GangInfo, now: int) -> None:
        """Note whether the quorum of a gang is on nodes, and the largest number of its pods."""
        placed = [*info.observed.with_node()]
        _, pods, _ = self._sizes(info.observed.living)
        known.pods = max(known.pods, pods)
        if bool(placed) and info.attempt.holds_quorum(placed):
            if not known.is_whole:
                known.is_whole, known.stopped = True, None
                bound = (int(pod.scheduled_at or pod.started_at) for pod in placed)
                known.started = min(now, max(bound, default=0) or now)
        elif known.is_whole and not placed:
            # A gang continues although members have ended, or are replaced one by one.
            known.is_whole, known.stopped = False, now
            known.evictions += 1

    def _end(self, key: GangKey, known: _Known, state: str, now: int) -> Line:
        del self._known[key]
        evictions = known.evictions
        if known.stopped is not None and evictions:
            evictions -= 1  # It did not wait again.
        end = End(
            id=known.id,
            state=state,
            started=known.started,
            stopped=known.stopped,
            pods=known.pods,
            evictions=evictions,
        )
        return Line(at=now, ended=end)

    # Gangs that are not recorded yet.

    def _is_to_come(self, info: GangInfo) -> bool:
        """Return whether a gang is ours, is complete, and has not ended."""
        if not phases.is_ours(info, self._cache):
            return False
        if phases.phase_of(phases.counts_of(info)) in ENDED:
            # It ended before the recording began, or its end is recorded.
            self._over[info.key] = _uid_of(info)
            return False
        living = info.observed.living
        return len(living) > 0 and info.attempt.holds_quorum(living)

    def _submitted(self, info: GangInfo, now: int) -> int:
        """Return when a gang began to wait, in seconds since the epoch."""
        if self._over.get(info.key) == _uid_of(info):
            return now  # It has failed, and tries once more.
        observed = info.observed
        since = info.in_line_since(observed.summary.oldest)
        of_members = table.BY_NAME[info.key.source].object_kind in ("", "PodGroup")
        living = observed.living
        if of_members and not info.quorum_age.complete_at and type(living) is not VirtualPods:
            ages = sorted(pod.created_at for pod in living)
            since = max(since, ages[min(len(ages), max(1, info.attempt.needed)) - 1])
        return min(now, int(since) or now)

    def _begin(self, key: GangKey, info: GangInfo, submit: int) -> Gang:
        """Return the gang as it is recorded, and remember it from now on."""
        self._over.pop(key, None)
        observed = info.observed
        size, pods, others = self._sizes(observed.living)
        self._number += 1
        self._known[key] = known = _Known(self._number, _uid_of(info), submit, pods)
        earlier = self._earlier.get(key)
        if earlier is not None and earlier.uid == known.uid:
            # The gang is in the file before this one, so its earlier life is known.
            self._known[key] = known = replace(earlier, id=self._number)
        ref = self._cache.queue_of(key)
        members = one_of_each(observed.living)
        spec = observed.spec or NO_SPEC
        times = self._cache.gang_queue.queues.run_times
        return Gang(
            id=self._number,
            namespace=key.namespace,
            name=key.name,
            submit=known.submit,
            pods=pods,
            least=min(pods, max(1, info.attempt.needed - others)),
            others=others,
            gpu=size.gpu,
            cpu=quantity_of(CPU, size.cpu) if size.cpu else "",
            memory=quantity_of(MEMORY, size.memory) if size.memory else "",
            gpu_type=size.gpu_type,
            queue=ref.name if ref is not None else "",
            priority=observed.priority,
            priority_class=next((pod.priority_class for pod in members), ""),
            limit=times.duration(members, spec.run_time),
            topology=_topology(info),
            user=next(filter(None, (pod.labels.get(annotations.USER) for pod in members)), ""),
        )

    def _sizes(self, members: Sequence[Pod]) -> tuple[Size, int, int]:
        """Return the size with the largest total, and how many pods have it and do not."""
        counts = numbers_by(members, self._size)
        if not counts:
            return Size(0, 0, 0, ""), 0, 0
        most = max(counts, key=lambda size: (size.gpu * counts[size], size.cpu * counts[size]))
        return most, counts[most], counts.total() - counts[most]

    def _size(self, pod: Pod) -> Size:
        asked = dict(pod.pod_class.requests)
        gpus = next((asked[name] for name in self._gpus if asked.get(name)), 0)
        kind = dict(pod.pod_class.node_selector).get(GPU_TYPE, "")
        return Size(gpus, asked.get(CPU, 0), asked.get(MEMORY, 0), kind)


def _uid_of(info: GangInfo) -> str:
    """Return the uid that tells a gang from an earlier one; "" if only its members differ."""
    spec = info.observed.spec or NO_SPEC
    return spec.uid


def _topology(info: GangInfo) -> str:
    """Return the layer that a gang must gather in, with ? if it only prefers it; "" for none."""
    request = info.observed.wanted_topology
    if request is None:
        return ""
    for layers, mark in ((request.must, ""), (request.prefer, "?")):
        named = [each.name for each in layers if not each.by_label]
        if named:
            return f"{named[-1]}{mark}"
    return ""
