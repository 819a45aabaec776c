"""What pods and objects report, until it is taken in: of what is gone only what can still count."""

from typing import NamedTuple

from gang_scheduler.model.checkpoints import Save
from gang_scheduler.model.refs import GangKey


class Report(NamedTuple):
    """What a pod or an object reports; `evicted`: since the pod is evicted."""

    key: GangKey
    save: Save
    evicted: bool = False


class Reports:
    """The last report of each source, by its uid, and what sources had reported that are gone.

    A replica that does not lead takes nothing in for months. No more than `most` saves of a gang
    are ever remembered, so of those that are gone no more are kept.
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
