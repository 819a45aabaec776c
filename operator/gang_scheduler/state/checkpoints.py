"""The saved checkpoints of all gangs, and the open requests to save one.

Plain synchronous code, a part of the cache. Statuses of PodGroups keep the checkpoints over a
restart, and open requests are on the pods themselves. A report is only stored when it is seen;
`take_in`, which knows the time, evaluates it.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import (
    BY_SIGNAL,
    NO_CHECKPOINTS,
    CheckpointPolicy,
    CheckpointReport,
    Checkpoints,
    Request,
    Requested,
    Save,
)
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

# Reports of pods and objects until they are taken in. For a deleted source, only the report that
# can still count is kept.


class Report(NamedTuple):
    """A save that a pod or an object reports; `evicted` if it was made because of an eviction."""

    key: GangKey
    save: Save
    evicted: bool = False


class Reports:
    """The last report of each source (a pod or an object) by its uid; of deleted ones in `left`.

    A replica that does not lead takes in no reports for months. No more than `most` saves of a gang
    are ever remembered, so records of deleted gangs are limited, too.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._reports: dict[str, Report] = {}
        self.left: dict[GangKey, dict[str, Report]] = {}

    def put(self, uid: str, report: Report) -> None:
        """Store the present report of a source."""
        self._reports[uid] = report

    def leave(self, uid: str) -> None:
        """Note that a source is gone. Its last report still counts."""
        report = self._reports.pop(uid, None)
        if report is None:
            return
        # Gangs are in the order in which they lost a source: the oldest are forgotten first.
        left = self.left.pop(report.key, {}) | {uid: report}
        self.left[report.key] = _newest(left, self._most) if len(left) > self._most else left

    def take(self) -> tuple[list[Report], dict[str, Save]]:
        """Return all reports since the last call, oldest first, and the saves of sources by uid."""
        reports, self._reports = self._reports, {}
        left, self.left = self.left, {}
        found = {uid: report for each in left.values() for uid, report in each.items()} | reports
        saves = {uid: report.save for uid, report in reports.items()}
        return [report for _, report in sorted(found.items(), key=_when)], saves


def _newest(reports: dict[str, Report], most: int) -> dict[str, Report]:
    """Return the newest reports of a gang: one for each save, as several members report it."""
    kept: list[tuple[str, Report]] = []
    for uid, report in sorted(reports.items(), key=_when):
        before = kept[-1][1].save if kept else None
        again = before.again(report.save) if before is not None else None
        # A report that answers a request is kept: here it is unknown whether the request is open.
        if before is not None and again is not None and again.request_id == before.request_id:
            kept[-1] = uid, report._replace(save=again)
        else:
            kept.append((uid, report))
    return dict(kept[-most:])


def _when(reported: tuple[str, Report]) -> tuple[int, str]:
    """Return a sort key for a report: the oldest save first, then the uid of its source."""
    uid, report = reported
    return report.save.done_at, uid


SKEW_SECONDS: Final = 60
"""The clock of a gang may be ahead by this much; a report from later does not count."""
MOST_NEWS: Final = 1000
MOST_GONE: Final = 1000
MOST_WITHDRAWN: Final = 1000

T = TypeVar("T")


class _Record(NamedTuple):
    """The checkpoints of a gang, and the uid of its object; "" if no object describes the gang."""

    uid: str
    checkpoints: Checkpoints


class CheckpointRecords:
    """The saves of gangs, newest first, and the open requests. Times are in seconds.

    Events in this process count more than the object, which may be older. `news` are outcomes to
    report to users. `changed` gets the gangs whose status must be written.
    """

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], changed: set[GangKey], most: int = 5
    ) -> None:
        self.news: deque[tuple[GangKey, CheckpointReport]] = deque(maxlen=MOST_NEWS)
        self.unwritten: set[GangKey] = set()
        """The gangs whose records have not been written since they changed."""
        self._infos = infos
        self._changed = changed
        self._most = most
        self._records: dict[GangKey, _Record] = {}
        # The last request before the open one.
        self._before: dict[GangKey, Requested | None] = {}
        self._remembered: set[GangKey] = set()
        # Reports by the uid of their source: the ones to take in, and the ones taken in last.
        self._reports = Reports(most)
        self._taken: dict[str, Save] = {}
        # By the uid of a pod: the unreadable report that was already logged.
        self._unreadable: dict[str, str] = {}
        self._resumed: dict[GangKey, int] = {}
        # Requests that this process withdrew: pods in the cache may still show them.
        self._withdrawn: deque[str] = deque(maxlen=MOST_WITHDRAWN)

    # Events.

    def seen_on_pod(self, key: GangKey, pod: Pod) -> None:
        """Store a member's report on checkpoints."""
        said = pod.checkpoint
        if said is None:
            return
        save = said.save
        if save is not None:
            save = save._replace(workload_uid=pod.workload_uid)
            if self._taken.get(pod.uid) != save:
                self._reports.put(pod.uid, Report(key, save, pod.marked_as_victim))
        if said.unreadable and self._unreadable.get(pod.uid) != said.unreadable:
            self._unreadable[pod.uid] = said.unreadable
            news = CheckpointReport(CheckpointOutcome.FAILED, why=said.unreadable, evicted=False)
            self.news.append((key, news))
        if said.resume_count and pod.node:
            self._resumed[key] = max(said.resume_count, self._resumed.get(key, 0))

    def seen_on_object(self, gang_spec: GangSpec) -> None:
        """Store the report of an object, and note that the object remembers checkpoints."""
        save = gang_spec.saved
        if save is not None and self._taken.get(gang_spec.uid) != save:
            self._reports.put(gang_spec.uid, Report(gang_spec.key, save))
        if gang_spec.checkpoints is not None:
            self._remembered.add(gang_spec.key)

    def forget_source(self, uid: str) -> None:
        """Forget the last report of a deleted pod. Reports that were stored before still count."""
        self._taken.pop(uid, None)
        self._unreadable.pop(uid, None)
        self._reports.leave(uid)

    def forget(self, key: GangKey) -> None:
        """Note that nothing is known of a gang any more. A new one may get its name."""
        self._remembered.discard(key)
        self.unwritten.discard(key)
        self._before.pop(key, None)
        self._forget_oldest(self._records)
        self._forget_oldest(self._reports.left)
        self._forget_oldest(self._resumed)

    def take_in(self, now: int) -> None:
        """Apply the reports since the last call."""
        reports, saves = self._reports.take()
        self._taken |= saves
        for report in reports:
            self._report(report, now)
        resumed, self._resumed = self._resumed, {}
        for key, count in resumed.items():
            found = self.of(key)
            if count > found.resume_count:
                self._put(key, replace(found, resume_count=count))

    # Queries.

    def of(self, key: GangKey) -> Checkpoints:
        """Return the checkpoint record of a gang."""
        record, info = self._records.get(key), self._infos.get(key)
        if record is not None and record.uid == _uid(info):
            return record.checkpoints
        spec = info.observed.spec if info is not None else None
        written = spec.checkpoints if spec is not None else None
        if written is None:
            return NO_CHECKPOINTS
        stands = written.requested is not None and written.requested.outcome is None
        # Only pods show that a request is open.
        return replace(written, requested=None) if stands else written

    def saved_at(self, key: GangKey) -> int:
        """Return when a gang last saved its work, 0 if it never did."""
        last = self.of(key).last
        return last.done_at if last is not None else 0

    def all_saved_at(self) -> dict[GangKey, int]:
        """Return when gangs last saved their work. Linear in gangs that did."""
        keys = self._records.keys() | self._remembered
        found = ((key, self.saved_at(key)) for key in keys & self._infos.keys())
        return {key: at for key, at in found if at}

    def policy_of(self, key: GangKey) -> CheckpointPolicy:
        """Return the checkpoint policy of a gang: from its object, or else its oldest member."""
        info = self._infos.get(key)
        if info is None:
            return BY_SIGNAL
        spec = info.observed.spec
        if spec is not None and spec.checkpoint is not None:
            return spec.checkpoint
        oldest_first = sorted(info.observed.living, key=lambda pod: (pod.created_at, pod.uid))
        said = (pod.checkpoint.policy for pod in oldest_first if pod.checkpoint is not None)
        return next((each for each in said if each is not None), BY_SIGNAL)

    def standing(self, key: GangKey) -> Request | None:
        """Return the request that a gang can still answer: one of this process, or on pods."""
        requested = self.of(key).requested
        if requested is not None and requested.outcome is None:
            return requested.request
        info = self._infos.get(key)
        bound = info.observed.with_node() if info is not None else ()
        found = [each for pod in bound if (each := self.standing_on(pod)) is not None]
        return max(found, key=lambda each: (each.at, each.id), default=None)

    def standing_on(self, pod: Pod) -> Request | None:
        """Return the open request on a pod, unless this process has withdrawn it."""
        request = pod.checkpoint.request if pod.checkpoint is not None else None
        return None if request is None or request.id in self._withdrawn else request

    def outcome_of(self, key: GangKey, request_id: str) -> CheckpointOutcome | None:
        """Return the outcome of a request; None while it is open, and after it was withdrawn."""
        requested = self.of(key).requested
        is_it = requested is not None and requested.request.id == request_id
        return requested.outcome if requested is not None and is_it else None

    # Requests and their outcomes.

    def ask(self, key: GangKey, request: Request, news: CheckpointReport) -> None:
        """Note a request to a gang. If an earlier process made it, it is not reported again."""
        found = self.of(key)
        known = found.requested
        if known is not None and known.request.id == request.id:
            return
        is_taken_over = self.standing(key) == request
        self._before[key] = known
        self._put(key, replace(found, requested=Requested(request)))
        answer = next((each for each in found.saves if each.request_id == request.id), None)
        if answer is not None:
            self._end(key, CheckpointOutcome.SAVED)
        elif not is_taken_over:
            self.news.append((key, news))

    def withdraw(self, key: GangKey, request: Request) -> None:
        """Note that a gang need not answer a request any more."""
        self._withdrawn.append(request.id)
        requested = self.of(key).requested
        if requested is not None and requested == Requested(request):
            self._put(key, replace(self.of(key), requested=self._before.pop(key, None)))

    def answered(self, key: GangKey, save: Save, now: int) -> None:
        """Record an answer to a request that came without an annotation."""
        self._report(Report(key, save), now)

    def gave_up(
        self, key: GangKey, request_id: str, outcome: CheckpointOutcome, why: str = ""
    ) -> None:
        """Note that no answer is expected any more, if one still was."""
        requested = self.of(key).requested
        stands = requested is not None and requested.outcome is None
        if requested is not None and stands and requested.request.id == request_id:
            self._end(key, outcome)
            self.news.append((key, CheckpointReport(outcome, why=why)))

    def _report(self, report: Report, now: int) -> None:
        """Record a save.

        A time in the future counts as now, if the save answers a request or the time is near.
        """
        key, save = report.key, report.save
        requested = self.of(key).requested
        is_answer = (
            requested is not None
            and requested.outcome is None
            and requested.request.id == save.request_id
        )
        if save.done_at > now + SKEW_SECONDS and not is_answer:
            return
        save = save._replace(done_at=min(save.done_at, now))
        is_news = self._add(key, save)
        if is_answer:
            self._end(key, CheckpointOutcome.SAVED)
        if is_news or is_answer:
            was_asked = is_answer or report.evicted
            by = requested.request.id if is_answer and requested is not None else ""
            told = save if by else save._replace(request_id="")
            self.news.append(
                (key, CheckpointReport(CheckpointOutcome.SAVED, told, evicted=was_asked))
            )

    def _add(self, key: GangKey, save: Save) -> bool:
        """Add a save to a gang; return whether it is a new one."""
        found = self.of(key)
        last = found.last
        if last is not None and save.done_at < last.done_at:
            return False
        again = last.again(save) if last is not None else None
        if again is not None:
            if again != last:
                self._put(key, replace(found, saves=(again, *found.saves[1:])))
            return False
        if not save.workload_uid:
            save = save._replace(workload_uid=self._only_workload(key))
        count = found.resume_count
        if last is not None and len({save.workload_uid, last.workload_uid} - {""}) > 1:
            count = 0
        saves = (save, *found.saves)[: self._most]
        self._put(key, replace(found, saves=saves, resume_count=count))
        return True

    def workloads_of(self, key: GangKey) -> frozenset[str]:
        """Return the known uids of the workloads to which the living members of a gang belong.

        Checkpoints of earlier workloads with the same gang name do not count.
        """
        info = self._infos.get(key)
        living = one_of_each(info.observed.living) if info is not None else ()
        return frozenset(
            pod.workload_uid for pod in living if pod.workload_uid and not pod.deleting
        )

    def _only_workload(self, key: GangKey) -> str:
        found = self.workloads_of(key)
        return next(iter(found)) if len(found) == 1 else ""

    def _end(self, key: GangKey, outcome: CheckpointOutcome) -> None:
        self._before.pop(key, None)
        found = self.of(key)
        if found.requested is not None:
            self._put(key, replace(found, requested=Requested(found.requested.request, outcome)))

    def _put(self, key: GangKey, found: Checkpoints) -> None:
        # Records are in the order of changes: the oldest of deleted gangs are forgotten first.
        self._records.pop(key, None)
        self._records[key] = _Record(_uid(self._infos.get(key)), found)
        self._changed.add(key)
        if key in self._infos:
            self.unwritten.add(key)

    def _forget_oldest(self, by_gang: dict[GangKey, T]) -> None:
        """Forget the oldest records, if there are too many of deleted gangs."""
        if len(by_gang) <= MOST_GONE:
            return
        gone = [each for each in by_gang if each not in self._infos]
        for each in gone[: max(0, len(gone) - MOST_GONE)]:
            del by_gang[each]


def _uid(info: GangInfo | None) -> str:
    """Return the uid of the object that describes a gang, "" if members describe it."""
    spec = info.observed.spec if info is not None else None
    return spec.uid if spec is not None and spec.gvr is not None else ""


# The checkpoint from which a gang resumes, as annotations of its bindings.


def annotations_of(records: CheckpointRecords, info: GangInfo | None) -> Mapping[str, str]:
    """Return annotations for the bindings of a gang; none if its workload has no checkpoint.

    A member that joins a running gang gets the resume count of the other members.
    """
    if info is None:
        return {}
    found = records.of(info.key)
    last = found.last_of(records.workloads_of(info.key))
    if last is None:
        return {}
    said = {annotations.RESUME_COUNT: str(_count(found, info))}
    if last.path:
        said[annotations.RESUME_PATH] = last.path
    if last.step is not None:
        said[annotations.RESUME_STEP] = str(last.step)
    return said


def _count(found: Checkpoints, info: GangInfo) -> int:
    """Return how often the gang has continued from a checkpoint, this time included."""
    there = max(map(_resumes_of, info.observed.with_node()), default=0)
    return there or found.resume_count + 1


def _resumes_of(pod: Pod) -> int:
    return pod.checkpoint.resume_count if pod.checkpoint is not None else 0
