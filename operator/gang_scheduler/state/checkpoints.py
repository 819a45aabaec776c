"""Checkpoints of all gangs: what they have saved, and which of them are asked to save.

Plain synchronous code, a part of the cache. Statuses of PodGroups keep the checkpoints over a
restart, and open requests are on the pods themselves. A report is only recorded when it is seen.
When it counts depends on the time, which `take_in` brings.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model.checkpoints import (
    BY_SIGNAL,
    NO_CHECKPOINTS,
    CheckpointPolicy,
    Checkpoints,
    News,
    Request,
    Requested,
    Save,
)
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.values import CheckpointOutcome
from gang_scheduler.state.gangs.gang_info import GangInfo

# Reports of pods and objects until they are taken in. Of a source that is gone, only the report
# that can still count is kept.


class Report(NamedTuple):
    """What a pod or an object reports; `evicted`: since the pod is evicted."""

    key: GangKey
    save: Save
    evicted: bool = False


class Reports:
    """The last report of each source, by its uid, and what sources had reported that are gone.

    A replica that does not lead takes nothing in for months. No more than `most` saves of a gang
    are ever remembered, so records of gangs that are gone are limited, too.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._reports: dict[str, Report] = {}
        self.left: dict[GangKey, dict[str, Report]] = {}

    def put(self, uid: str, report: Report) -> None:
        """Note what a source reports now."""
        self._reports[uid] = report

    def leave(self, uid: str) -> None:
        """Note that a source is gone: what it had reported still counts."""
        report = self._reports.pop(uid, None)
        if report is None:
            return
        # The last gang to lose a source is the last one: the oldest are forgotten first.
        left = self.left.pop(report.key, {}) | {uid: report}
        self.left[report.key] = _newest(left, self._most) if len(left) > self._most else left

    def take(self) -> tuple[list[Report], dict[str, Save]]:
        """Return all reports since the last call, the oldest first, and those of sources by uid."""
        reports, self._reports = self._reports, {}
        left, self.left = self.left, {}
        found = {uid: report for each in left.values() for uid, report in each.items()} | reports
        saves = {uid: report.save for uid, report in reports.items()}
        return [report for _, report in sorted(found.items(), key=_when)], saves


def _newest(reports: dict[str, Report], most: int) -> dict[str, Report]:
    """Return the newest reports of a gang: one for each save, as several members tell of it."""
    kept: list[tuple[str, Report]] = []
    for uid, report in sorted(reports.items(), key=_when):
        before = kept[-1][1].save if kept else None
        again = before.again(report.save) if before is not None else None
        # One that answers a request stays: it is not known here whether that stands.
        if before is not None and again is not None and again.request_id == before.request_id:
            kept[-1] = uid, report._replace(save=again)
        else:
            kept.append((uid, report))
    return dict(kept[-most:])


def _when(reported: tuple[str, Report]) -> tuple[int, str]:
    """Return a sort key of what reports, by its uid, and of what: the oldest first."""
    uid, report = reported
    return report.save.done_at, uid


SKEW_SECONDS: Final = 60
"""By how much the clock of a gang may be ahead; a report from later than that is none."""
MOST_NEWS: Final = 1000
MOST_GONE: Final = 1000
MOST_WITHDRAWN: Final = 1000

T = TypeVar("T")


class _Record(NamedTuple):
    """What is known of the gang that an object of this uid describes; "": no object does."""

    uid: str
    checkpoints: Checkpoints


class CheckpointRecords:
    """The saves of gangs, the newest first, and the requests that stand. Times are in seconds.

    What happened here counts, and not what the object says, which may be older. `news` is what
    users are to be told; `changed` gets the gangs whose status says something else by that.
    """

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], changed: set[GangKey], most: int = 5
    ) -> None:
        self.news: deque[tuple[GangKey, News]] = deque(maxlen=MOST_NEWS)
        self.unwritten: set[GangKey] = set()
        """The gangs whose record has changed since it was last written."""
        self._infos = infos
        self._changed = changed
        self._most = most
        self._records: dict[GangKey, _Record] = {}
        # The last request before the one that stands.
        self._before: dict[GangKey, Requested | None] = {}
        self._remembered: set[GangKey] = set()
        # By the uid of what reports it: what is to be taken in, and what was taken in last.
        self._reports = Reports(most)
        self._taken: dict[str, Save] = {}
        # By the uid of a pod: what it left behind that cannot be read, and that was told.
        self._unreadable: dict[str, str] = {}
        self._resumed: dict[GangKey, int] = {}
        # Requests that this process withdrew: the pods in the cache may be older than that.
        self._withdrawn: deque[str] = deque(maxlen=MOST_WITHDRAWN)

    # What is seen.

    def seen_on_pod(self, key: GangKey, pod: Pod) -> None:
        """Note what a member says of checkpoints."""
        said = pod.checkpoint
        if said is None:
            return
        save = said.save
        if save is not None:
            save = save._replace(workload_uid=pod.workload_uid)
            if self._taken.get(pod.uid) != save:
                self._reports.put(pod.uid, Report(key, save, pod.marked))
        if said.unreadable and self._unreadable.get(pod.uid) != said.unreadable:
            self._unreadable[pod.uid] = said.unreadable
            news = News(CheckpointOutcome.FAILED, why=said.unreadable, evicted=False)
            self.news.append((key, news))
        if said.resume_count and pod.node:
            self._resumed[key] = max(said.resume_count, self._resumed.get(key, 0))

    def seen_on_object(self, gang_spec: GangSpec) -> None:
        """Note what an object reports of its gang, and that it remembers some."""
        save = gang_spec.saved
        if save is not None and self._taken.get(gang_spec.uid) != save:
            self._reports.put(gang_spec.uid, Report(gang_spec.key, save))
        if gang_spec.checkpoints is not None:
            self._remembered.add(gang_spec.key)

    def forget_source(self, uid: str) -> None:
        """Forget what a pod said last: it is gone. What it had reported by then still counts."""
        self._taken.pop(uid, None)
        self._unreadable.pop(uid, None)
        self._reports.leave(uid)

    def forget(self, key: GangKey) -> None:
        """Note that nothing is known of a gang any more: it may come back under its name."""
        self._remembered.discard(key)
        self.unwritten.discard(key)
        self._before.pop(key, None)
        self._forget_oldest(self._records)
        self._forget_oldest(self._reports.left)
        self._forget_oldest(self._resumed)

    def take_in(self, now: int) -> None:
        """Take in what was reported since the last time."""
        reports, saves = self._reports.take()
        self._taken |= saves
        for report in reports:
            self._report(report, now)
        resumed, self._resumed = self._resumed, {}
        for key, count in resumed.items():
            found = self.of(key)
            if count > found.resume_count:
                self._put(key, replace(found, resume_count=count))

    # What is known.

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
        # Only pods say that a request stands.
        return replace(written, requested=None) if stands else written

    def saved_at(self, key: GangKey) -> int:
        """Return when a gang last saved its work, 0 if it never did."""
        last = self.of(key).last
        return last.done_at if last is not None else 0

    def all_saved_at(self) -> dict[GangKey, int]:
        """Return when gangs last saved their work. Linear in the gangs that did."""
        keys = self._records.keys() | self._remembered
        found = ((key, self.saved_at(key)) for key in keys & self._infos.keys())
        return {key: at for key, at in found if at}

    def policy_of(self, key: GangKey) -> CheckpointPolicy:
        """Return how a gang saves its work: its object says it, or else its oldest member."""
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
        """Return the request that a gang has time to answer: one of this process, or of pods."""
        requested = self.of(key).requested
        if requested is not None and requested.outcome is None:
            return requested.request
        info = self._infos.get(key)
        bound = info.observed.with_node() if info is not None else ()
        found = [each for pod in bound if (each := self.standing_on(pod)) is not None]
        return max(found, key=lambda each: (each.at, each.id), default=None)

    def standing_on(self, pod: Pod) -> Request | None:
        """Return the request that stands on a pod, unless this process has withdrawn it."""
        request = pod.checkpoint.request if pod.checkpoint is not None else None
        return None if request is None or request.id in self._withdrawn else request

    def outcome_of(self, key: GangKey, request_id: str) -> CheckpointOutcome | None:
        """Return the outcome of a request; None while it stands, and once it is withdrawn."""
        requested = self.of(key).requested
        is_it = requested is not None and requested.request.id == request_id
        return requested.outcome if requested is not None and is_it else None

    # What happens.

    def ask(self, key: GangKey, request: Request, news: News) -> None:
        """Note that a gang is asked now, or by an earlier process: then that is no news."""
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
        """Note what a gang answered to a request otherwise than by an annotation."""
        self._report(Report(key, save), now)

    def gave_up(
        self, key: GangKey, request_id: str, outcome: CheckpointOutcome, why: str = ""
    ) -> None:
        """Note that no answer is waited for any more, if one still was."""
        requested = self.of(key).requested
        stands = requested is not None and requested.outcome is None
        if requested is not None and stands and requested.request.id == request_id:
            self._end(key, outcome)
            self.news.append((key, News(outcome, why=why)))

    def _report(self, report: Report, now: int) -> None:
        """Note a save. One of later than now counts as of now, if it answers or is little later."""
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
            self.news.append((key, News(CheckpointOutcome.SAVED, told, evicted=was_asked)))

    def _add(self, key: GangKey, save: Save) -> bool:
        """Add a save to those of a gang; return whether it is another than is known."""
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
        """Return the uids of the workloads of the living members of a gang, where they are known.

        What others saved under its name is none of its work.
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
        # The last one changed is the last one: of gangs that are gone the oldest are forgotten.
        self._records.pop(key, None)
        self._records[key] = _Record(_uid(self._infos.get(key)), found)
        self._changed.add(key)
        if key in self._infos:
            self.unwritten.add(key)

    def _forget_oldest(self, by_gang: dict[GangKey, T]) -> None:
        """Forget the oldest of too many gangs that are gone."""
        if len(by_gang) <= MOST_GONE:
            return
        gone = [each for each in by_gang if each not in self._infos]
        for each in gone[: max(0, len(gone) - MOST_GONE)]:
            del by_gang[each]


def _uid(info: GangInfo | None) -> str:
    """Return the uid of the object that describes a gang, "" of one that members describe."""
    spec = info.observed.spec if info is not None else None
    return spec.uid if spec is not None and spec.gvr is not None else ""


# The checkpoint from which a gang resumes, as annotations of its bindings.


def annotations_of(records: CheckpointRecords, info: GangInfo | None) -> Mapping[str, str]:
    """Return the annotations of the bindings of a gang; none where its workload has saved nothing.

    Members that join a gang which goes on have the count of those that are there.
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
    """Return how often the gang has gone on from a checkpoint, this time included."""
    there = max(map(_told_by, info.observed.with_node()), default=0)
    return there or found.resume_count + 1


def _told_by(pod: Pod) -> int:
    return pod.checkpoint.resume_count if pod.checkpoint is not None else 0
