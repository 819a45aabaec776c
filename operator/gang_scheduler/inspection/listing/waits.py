"""Why a gang waits: a reason, one sentence, the full message, and a short form for a column."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from gang_scheduler.decode import fields
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing.decisions_now import Decisions
from gang_scheduler.model.causes.gangs import ClaimsUnbound, MembersMissing
from gang_scheduler.model.causes.queues import QuotaShort
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Misfit, Oversized, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.resources import quantity
from gang_scheduler.model.wording import counted
from gang_scheduler.report.words import room as word_room
from gang_scheduler.report.words.messages import describe
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import Counts
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS

# Why a gang waits, in a few words for a column, with the missing number. A reason without a short
# form has the first sentence of its message.


def brief_of(refused: Refused, ahead: int = 0) -> str:
    """Return why a gang waits in a few words; "" without a short form.

    `ahead` is the part of its missing quota that earlier gangs take.
    """
    if refused.with_group is not None:
        return f"starts with {refused.with_group.refused.gang.key}, which waits"
    tried = refused.preemption
    if tried is not None and tried.waits:
        return "pods leave" if not tried.victims else f"{counted(tried.victims, 'pod')} must leave"
    if isinstance(refused.cause, QuotaShort):
        return _of_quota(refused.cause, ahead)
    if refused.misfit is not None and not refused.empty_flavors:
        return _of_room(refused.misfit)
    return ""


def _of_quota(cause: QuotaShort, ahead: int) -> str:
    short = quantity(cause.resource, cause.asked - max(0, cause.available))
    where = f"in {cause.queue}" if cause.queue else "for gangs without a queue"
    taken = f", gangs before it take {quantity(cause.resource, ahead)}" if ahead else ""
    return f"{short} {cause.resource} short {where}{taken}"


def _of_room(misfit: Misfit) -> str:
    """Return how many members find room, and where most of them find it."""
    short = misfit.shortage
    if misfit.nodes == 0 or misfit.unlabelled is not None:
        return word_room.lacking(misfit)
    if short is not None and short.oversized:
        return _of_size(short.oversized[0])
    most = "at most " if misfit.at_most else ""
    if misfit.offers is not None and misfit.offers.best:
        domain, room = misfit.offers.best[0]
        if domain.path:
            return f"{domain.path[-1]} has {most}{room} of {misfit.needs}"
    if short is not None and not short.obstacle.is_room:
        return word_room.lacking(misfit).removeprefix("then ")
    if misfit.needs > 1:
        return f"room for {most}{misfit.fits} of {misfit.needs}"
    return word_room.lacking(misfit)


def _of_size(found: Oversized) -> str:
    asked = f"asks {quantity(found.resource, found.asked)} {found.resource}"
    if not found.largest:
        return f"{asked}, nodes have none"
    return f"{asked}, nodes have {quantity(found.resource, found.largest)}"


NEXT_CYCLE: Final = "NextCycle"
"""The reason of a gang that has room, and waits only for the next cycle."""
_SENTENCE: Final = re.compile(r"\.\s")


class Wait(NamedTuple):
    """Why a gang waits; "" if it is not known. `few_words` is a short form for a column, if any."""

    reason: str = ""
    message: str = ""
    few_words: str = ""

    @property
    def brief(self) -> str:
        """The few words, else the first sentence."""
        return self.few_words or _SENTENCE.split(self.message, maxsplit=1)[0].rstrip(".")


UNKNOWN: Final = Wait()


def of(info: GangInfo, counts: Counts, decisions: Decisions, cluster: Cluster) -> Wait:
    """Return why a gang whose quorum is not bound waits."""
    refused = decisions.refused.get(info.key)
    if refused is not None and not refused.left_over:
        ahead = decisions.ahead.get(info.key, 0)
        return Wait(refused.reason.value, describe(refused), brief_of(refused, ahead))
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
    """Return why a gang waits, from the condition on its object, else on a member."""
    spec = info.observed.spec
    for each in (spec.status.get("conditions") or ()) if spec is not None else ():
        if isinstance(each, dict) and (each.get("type"), each.get("status")) == _NOT_SCHEDULED:
            return Wait(str(each.get("reason", "")), str(each.get("message", "")))
    causes = (pod.unscheduled for pod in info.observed.living if pod.unscheduled and not pod.node)
    reason, message = next(causes, ("", ""))
    return Wait(reason, message)


def queue_written(info: GangInfo) -> dict[str, Any]:
    """Return the part of a gang's status about its queue."""
    spec = info.observed.spec
    found = spec.status.get("queue") if spec is not None else None
    return found if isinstance(found, dict) else {}


_NOT_SCHEDULED: Final = ("Scheduled", "False")


# Gangs that have nodes and wait for their volumes, or for their devices to be attached, as far as
# objects show it. Only the scheduler knows which room it holds for them: the claims name the nodes,
# and the conditions say what the gang waits for.


def keep_room(cache: Cache) -> tuple[str, ...]:
    """Keep the room that the scheduler holds for members whose claims have nodes.

    Return the uids of these members.
    """
    if not (cache.volumes.in_use or cache.devices.in_use):
        return ()
    held: list[Bind] = []
    for info in cache.gang_queue.infos.values():
        reason = written(info).reason
        if reason == Reason.WAITING_FOR_VOLUMES.value:
            held += _held(info, cache.volumes.selected_node)
        elif reason == Reason.WAITING_FOR_DEVICES.value:
            held += _held(info, cache.devices.node_of_claims)
    cache.nominate(held)
    return tuple(bind.pod.uid for bind in held)


def _held(info: GangInfo, node_of: Callable[[Pod], str]) -> list[Bind]:
    waiting = [pod for pod in info.observed.living if not pod.node and not pod.nominated]
    nodes = ((pod, node_of(pod)) for pod in waiting)
    return [Bind(pod, node) for pod, node in nodes if node]


def refusal_of(info: GangInfo, gang: Gang, cache: Cache) -> Refused | None:
    """Return why a gang with room is not bound yet; None if nothing keeps it from being bound."""
    volumes = _volumes_awaited(info, cache)
    if volumes is not None:
        return Refused(gang, Reason.WAITING_FOR_VOLUMES, gang.pending, cause=volumes)
    devices = cache.devices.awaited(pod for pod in info.observed.living if not pod.node)
    if devices is not None:
        return Refused(gang, Reason.WAITING_FOR_DEVICES, gang.pending, cause=devices)
    return None


def _volumes_awaited(info: GangInfo, cache: Cache) -> ClaimsUnbound | None:
    """Return the unbound claims for which a gang with room waits; None if there are none."""
    waiting = [pod for pod in info.observed.living if not pod.node]
    awaited = {each for pod in waiting for each in cache.volumes.awaited(pod)}
    if not awaited:
        return None
    claims = {f"{pod.namespace}/{each.claim}" for pod in waiting for each in pod.volumes}
    return ClaimsUnbound(len(awaited), len(claims), min(awaited))


# Gangs that the scheduler has set aside because deciding on them takes long.
#
# Only the scheduler knows the measured times, so they are read from its statuses. Without this, a
# cycle here would try such gangs, and take as long.


SET_ASIDE: Final = re.compile(
    r"took the scheduler (\d{1,6}\.\d) s, .{1,80}? tried again at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)


def set_aside_as_written(cache: Cache, now: int) -> None:
    """Set those gangs aside in the cache whose statuses say so. `now` is in seconds."""
    for key, info in cache.gang_queue.infos.items():
        if not info.has_pending(cache.schedulers):
            continue  # The scheduler does not try it.
        found = written(info)
        if found.reason == Reason.SET_ASIDE.value:
            cache.gang_queue.set_aside.hold(key, *_set_aside_said(found.message, now), now)


def _set_aside_said(message: str, now: int) -> tuple[float, int]:
    """Return how long the last decision took, and when the next one is due, both in seconds."""
    said = SET_ASIDE.search(message)
    if said is None:
        return SHARE_SECONDS, now + 1
    return float(said[1]), max(fields.timestamp_or_zero(said[2]), now + 1)
