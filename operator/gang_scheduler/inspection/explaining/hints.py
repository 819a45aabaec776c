"""What the first sentence leaves open: which members are missing, and which names may be meant."""

import re
from collections.abc import Collection
from typing import Final

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.workloads import table
from gang_scheduler.inspection.explaining.wording import Names, between, listed
from gang_scheduler.model import likeness
from gang_scheduler.model.causes.queues import QueueFault, QueueUnusable
from gang_scheduler.model.causes.specs import MinMemberAboveJobs
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.queues import QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.texts import near_names
from gang_scheduler.report.texts.near_names import NearNames
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo

MOST_NAMED: Final = 4
FIRST_DELAY_SECONDS: Final = 10
LONGEST_DELAY_SECONDS: Final = 600
MOST_DOUBLED: Final = 8
"""The controller of Jobs waits so long after a pod has ended, and doubles that with each other one,
up to the longest; after so many it has come to that."""
_NUMBERED: Final = re.compile(r"(.*-)(0|[1-9][0-9]{0,8})")


def of_refusal(
    refused: Refused, info: GangInfo, cache: Cache, declared: QueueSet, names: Names
) -> str:
    """Return a sentence beside the first one; "" where there is no more to say."""
    cause = refused.cause
    if refused.reason is Reason.POD_GROUP_NOT_FOUND:
        return alike(info, cache) or _elsewhere(info, cache, names)
    if isinstance(cause, MinMemberAboveJobs):
        return ""  # Those that it lacks can never be there.
    if isinstance(cause, QueueUnusable) and cause.fault is QueueFault.NOT_FOUND:
        return _meant(cause, declared)
    if refused.reason is Reason.WAITING_FOR_MEMBERS:
        return missing(info)
    return ""


def _meant(cause: QueueUnusable, declared: QueueSet) -> str:
    names = [each.ref.name for each in declared.queues if each.ref.kind.value == cause.kind]
    near = likeness.close_to(cause.queue, names)
    return f"Did you mean {near[0]}?" if near else ""


def alike(info: GangInfo, cache: Cache) -> str:
    """Return the PodGroup that no pod names, and that members of a missing one may mean."""
    if not near_names.is_in_want(info):
        return ""
    meant = NearNames(cache.gang_queue.infos.values()).without_members(info.key)
    if meant is None:
        return ""
    return f'PodGroup "{meant.key.name}" exists, and no pod names it: is that one meant?'


def _elsewhere(info: GangInfo, cache: Cache, names: Names) -> str:
    """Return the PodGroup of the same name in another namespace that waits for members."""
    meant = NearNames(cache.gang_queue.infos.values()).elsewhere(info.key)
    return near_names.text_of_other(meant, hides_names=names.hides) if meant is not None else ""


def without_members(info: GangInfo, cache: Cache, names: Names) -> str:
    """Return that no pod names a gang, and which pods may mean it: those of a missing PodGroup."""
    spec = info.observed.spec
    if spec is not None and spec.suspended:
        return _suspended(info.key, spec, cache)
    needed = info.observed.min_member
    are = "is" if needed == 1 else "are"
    said = f"It has no member yet: {needed} {are} needed, and no pod names it."
    if again := _created_again(info):
        return f"It has no member now: {needed} {are} needed. {again}"
    near = NearNames(cache.gang_queue.infos.values())
    pods = near_names.text_of(near.meant(info.key))
    if not pods and (other := near.elsewhere(info.key)) is not None:
        pods = near_names.text_of_pods_elsewhere(other, hides_names=names.hides)
    return f"{said} {pods[:1].upper()}{pods[1:]}".rstrip()


def _created_again(info: GangInfo) -> str:
    """Return when the pods of a gang come again that was evicted; "" for one that was not."""
    spec = info.observed.spec
    evictions = spec.evictions if spec is not None else None
    if evictions is None or not evictions.last:
        return ""
    ended = min(info.observed.min_member, MOST_DOUBLED)
    by = evictions.last + min(FIRST_DELAY_SECONDS << (ended - 1), LONGEST_DELAY_SECONDS)
    return (
        f"It was evicted at {rfc3339(evictions.last)}: a Job creates its pods again at about "
        f"{rfc3339(by)}, and within seconds if it has backoffLimitPerIndex."
    )


def _suspended(key: GangKey, spec: GangSpec, cache: Cache) -> str:
    """Return that the workload of a gang is suspended, and why nothing here lets it start."""
    said = "It is suspended (spec.suspend): its controller creates no pods."
    kind = table.BY_NAME[key.source].object_kind or key.source
    found = cache.suspended.kept_back(spec.uid, kind)
    why = [f"setting manageJobs does not list {kind}"] if found.by_kind else []
    if found.names_none:
        why.append("it names no queue")
    if found.absent is not None:
        why.append(f"there are no queues such as {found.absent.kind} {found.absent.name}")
    why += [f"its pod template has schedulerName {name}" for name in sorted(found.schedulers)]
    return f"{said} This scheduler does not let it start: {between(why)}." if why else said


def missing(info: GangInfo) -> str:
    """Return which members are missing, as far as the numbers of the others tell."""
    spec = info.observed.spec
    if spec is None:
        return ""
    living = info.observed.living
    if not spec.roles:
        return _sentence(_of_numbered(living, info.observed.min_member))
    found = [name for role in spec.roles for name in _of_role(living, role)]
    return _sentence(found)


def _of_role(living: Collection[Pod], role: Role) -> list[str]:
    return _of_numbered([pod for pod in living if pod.role == role.name], role.min_member)


def _of_numbered(living: Collection[Pod], needed: int) -> list[str]:
    """Return the names of those that are missing of pods that are numbered from 0."""
    matches = [_NUMBERED.fullmatch(pod.name) for pod in living]
    found = [each for each in matches if each is not None]
    numbers = {int(each[2]) for each in found}
    if len({each[1] for each in found}) == 1 and len(found) == len(matches):
        return [f"{found[0][1]}{number}" for number in _lacking(numbers, living, needed)]
    ranks = {pod.rank[0] for pod in living if len(pod.rank) == 1}
    return [f"index {number}" for number in _lacking(ranks, living, needed)]


def _lacking(numbers: Collection[int], living: Collection[Pod], needed: int) -> list[int]:
    """Return the numbers below `needed` that are not there, if all that are there are below."""
    if len(numbers) != len(living) or not numbers or max(numbers) >= needed:
        return []
    return [number for number in range(needed) if number not in numbers]


def _sentence(names: Collection[str]) -> str:
    if not names:
        return ""
    shown = [*names][:MOST_NAMED]
    said = between(shown) if len(names) == len(shown) else listed([*names], MOST_NAMED)
    return f"Missing: {said}."
