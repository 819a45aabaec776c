"""What the first sentence leaves open: which members are missing, and which names may be meant."""

import difflib
import re
from collections.abc import Collection
from typing import Final

from gang_scheduler.inspection.explaining.wording import between, listed
from gang_scheduler.model.causes.queues import QueueFault, QueueUnusable
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.queues import QueueSet
from gang_scheduler.report.texts import near_names
from gang_scheduler.report.texts.near_names import NearNames
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo

MOST_NAMED: Final = 4
_NUMBERED: Final = re.compile(r"(.*-)(0|[1-9][0-9]{0,8})")


def of_refusal(refused: Refused, info: GangInfo, cache: Cache, declared: QueueSet) -> str:
    """Return a sentence beside the first one; "" where there is no more to say."""
    cause = refused.cause
    if refused.reason is Reason.POD_GROUP_NOT_FOUND:
        return alike(info, cache)
    if isinstance(cause, QueueUnusable) and cause.fault is QueueFault.NOT_FOUND:
        return _meant(cause, declared)
    if refused.reason is Reason.WAITING_FOR_MEMBERS:
        return missing(info)
    return ""


def _meant(cause: QueueUnusable, declared: QueueSet) -> str:
    names = [each.ref.name for each in declared.queues if each.ref.kind.value == cause.kind]
    near = difflib.get_close_matches(cause.queue, sorted(names), n=1)
    return f"Did you mean {near[0]}?" if near else ""


def alike(info: GangInfo, cache: Cache) -> str:
    """Return the PodGroup that no pod names, and that members of a missing one may mean."""
    if not near_names.is_in_want(info):
        return ""
    meant = NearNames(cache.gang_queue.infos.values()).without_members(info.key)
    if meant is None:
        return ""
    return f'PodGroup "{meant.key.name}" exists, and no pod names it: is that one meant?'


def without_members(info: GangInfo, cache: Cache) -> str:
    """Return that no pod names a gang, and which pods may mean it: those of a missing PodGroup."""
    needed = info.observed.min_member
    are = "is" if needed == 1 else "are"
    said = f"It has no member yet: {needed} {are} needed, and no pod names it."
    pods = near_names.text_of(NearNames(cache.gang_queue.infos.values()).meant(info.key))
    return f"{said} {pods[:1].upper()}{pods[1:]}".rstrip()


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
