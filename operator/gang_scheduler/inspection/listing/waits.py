"""Why gangs wait: a reason, and what is to be said of it in one sentence and in full."""

import re
from typing import Any, Final, NamedTuple

from gang_scheduler.inspection.clusters import Cluster, Source
from gang_scheduler.inspection.listing import briefs
from gang_scheduler.inspection.listing.decisions import Decisions
from gang_scheduler.model.causes.members import MembersMissing
from gang_scheduler.model.problems import Reason
from gang_scheduler.report.texts.cause_texts import text_of
from gang_scheduler.report.texts.messages import describe
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import Counts

NEXT_CYCLE: Final = "NextCycle"
"""Why a gang waits that has room: it is given that by the next cycle."""
_SENTENCE: Final = re.compile(r"\.\s")


class Wait(NamedTuple):
    """Why a gang waits; "" where that is not known. `few_words` is "" if there is no short form."""

    reason: str = ""
    message: str = ""
    few_words: str = ""

    @property
    def brief(self) -> str:
        """A few words, else the first sentence."""
        return self.few_words or _SENTENCE.split(self.message, maxsplit=1)[0].rstrip(".")


UNKNOWN: Final = Wait()


def of(info: GangInfo, counts: Counts, decisions: Decisions, cluster: Cluster) -> Wait:
    """Return why a gang waits that has no quorum on nodes."""
    refused = decisions.refused.get(info.key)
    if refused is not None and not refused.left_over:
        ahead = decisions.ahead.get(info.key, 0)
        return Wait(refused.reason.value, describe(refused), briefs.of(refused, ahead))
    if info.key in decisions.starting:
        return Wait(NEXT_CYCLE, "there is room: it starts with the next cycle", "there is room")
    if cluster.source is Source.WRITTEN and (found := written(info)) != UNKNOWN:
        return found
    if not counts.reached(phases.members):
        there, short = phases.members(counts), counts.short_of(phases.members)
        missing = MembersMissing(there, counts.min_member, short)
        return Wait(Reason.WAITING_FOR_MEMBERS.value, text_of(missing))
    return UNKNOWN if refused is None else Wait(refused.reason.value, describe(refused))


def written(info: GangInfo) -> Wait:
    """Return why a gang waits as it is written: in its object, else in a member."""
    spec = info.observed.spec
    for each in (spec.status.get("conditions") or ()) if spec is not None else ():
        if isinstance(each, dict) and (each.get("type"), each.get("status")) == _NOT_SCHEDULED:
            return Wait(str(each.get("reason", "")), str(each.get("message", "")))
    told = (pod.unscheduled for pod in info.observed.living if pod.unscheduled and not pod.node)
    reason, message = next(told, ("", ""))
    return Wait(reason, message)


def queue_written(info: GangInfo) -> dict[str, Any]:
    """Return what the status of a gang says of its queue."""
    spec = info.observed.spec
    found = spec.status.get("queue") if spec is not None else None
    return found if isinstance(found, dict) else {}


_NOT_SCHEDULED: Final = ("Scheduled", "False")
