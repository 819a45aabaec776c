"""The first sentence of an explanation: one cause, and the one number that is too small."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.model import similar_names
from gang_scheduler.model.causes.gangs import MembersMissing, role_counts
from gang_scheduler.model.causes.queues import QueueFault, QueueUnusable
from gang_scheduler.model.causes.specs import MinMemberAboveJobs
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.plan import Misfit, Obstacle, PreemptionVerdict, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueSet
from gang_scheduler.model.reasons import RULES, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import PODS, quantity
from gang_scheduler.model.wording import counted, rfc3339
from gang_scheduler.report import missing_members
from gang_scheduler.report.missing_members import NearNames
from gang_scheduler.report.words import messages
from gang_scheduler.report.words import room as room_texts
from gang_scheduler.report.words.text import text_if_any
from gang_scheduler.scheduler.explanation.findings import (
    Barred,
    Beside,
    DomainRoom,
    Evictions,
    Explanation,
    Room,
    Verdict,
    Where,
)
from gang_scheduler.scheduler.filters import node_affinity, taints
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.workloads import table

# How names, amounts and times read in sentences.

MINUTE, HOUR, DAY = 60, 3600, 86_400
OF_ANOTHER_NAMESPACE = "a gang of another namespace"


@dataclass(frozen=True, slots=True)
class Names:
    """The names that users of a `namespace` see; `hides`: without names of other namespaces."""

    namespace: str
    hides: bool = False

    def gang(self, key: str) -> str:
        """Return the name of a gang, or that it is in another namespace."""
        return OF_ANOTHER_NAMESPACE if self._is_hidden(key) else key

    def pods(self, keys: Iterable[str]) -> list[str]:
        """Return the names of pods; hidden names are summed up as a number at the end."""
        listed = list(keys)
        shown = [each for each in listed if not self._is_hidden(each)]
        hidden = len(listed) - len(shown)
        return shown + ([f"{counted(hidden, 'pod')} of other namespaces"] if hidden else [])

    def _is_hidden(self, key: str) -> bool:
        return self.hides and key.partition("/")[0] != self.namespace


def duration(seconds: float) -> str:
    """Return a duration in its largest unit, such as `3 h`."""
    whole = max(0, int(seconds))
    if whole < 2 * MINUTE:
        return f"{whole} s"
    if whole < 2 * HOUR:
        return f"{whole // MINUTE} min"
    if whole < 2 * DAY:
        return f"{whole // HOUR} h"
    return f"{whole // DAY} days"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many others there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def amount(resource: str, number: int) -> str:
    """Return an amount and its resource, such as `8 nvidia.com/gpu`."""
    return f"{quantity(resource, number)} {resource}"


def uncapital(text: str) -> str:
    """Return a sentence to follow a colon: with a small first letter, unless a kind comes first."""
    first = text.partition(" ")[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def with_end(text: str) -> str:
    """Return a sentence with a full stop, unless it has an end."""
    return text if text.endswith((".", "?")) else f"{text}."


def joined_with_and(found: Sequence[str]) -> str:
    """Return names joined by commas and a last "and"."""
    *others, last = found
    return f"{', '.join(others)} and {last}" if others else last


# Details after the first sentence: missing members, and similar names that may be meant.

MOST_NAMED: Final = 4
FIRST_DELAY_SECONDS: Final = 10
LONGEST_DELAY_SECONDS: Final = 600
MOST_DOUBLED: Final = 8
"""The Job controller doubles its backoff with each failed pod, at most this often."""
_NUMBERED: Final = re.compile(r"(.*-)(0|[1-9][0-9]{0,8})")


def hint_of_refusal(
    refused: Refused, info: GangInfo, cache: Cache, declared: QueueSet, names: Names
) -> str:
    """Return a hint after the first sentence, such as a similar name; "" without one."""
    cause = refused.cause
    if refused.reason is Reason.POD_GROUP_NOT_FOUND:
        return alike_hint(info, cache) or _elsewhere(info, cache, names)
    if isinstance(cause, MinMemberAboveJobs):
        return ""  # The missing members cannot be created.
    if isinstance(cause, QueueUnusable) and cause.fault is QueueFault.NOT_FOUND:
        return _meant(cause, declared)
    if refused.reason is Reason.WAITING_FOR_MEMBERS:
        return missing_hints(info)
    return ""


def _meant(cause: QueueUnusable, declared: QueueSet) -> str:
    names = [each.ref.name for each in declared.queues if each.ref.kind.value == cause.kind]
    near = similar_names.close_to(cause.queue, names)
    return f"Did you mean {near[0]}?" if near else ""


def alike_hint(info: GangInfo, cache: Cache) -> str:
    """Return the hint that members of a missing PodGroup may mean one with a similar name."""
    if not missing_members.is_in_want(info):
        return ""
    meant = NearNames(cache.gang_queue.infos.values()).without_members(info.key)
    if meant is None:
        return ""
    return f'PodGroup "{meant.key.name}" exists, and no pod names it: is that one meant?'


def _elsewhere(info: GangInfo, cache: Cache, names: Names) -> str:
    """Return the hint that a PodGroup of this name in another namespace waits for members."""
    meant = NearNames(cache.gang_queue.infos.values()).elsewhere(info.key)
    return (
        missing_members.text_of_other(meant, hides_names=names.hides) if meant is not None else ""
    )


def without_members(info: GangInfo, cache: Cache, names: Names) -> str:
    """Return the hint that no pod names the gang, and which pods may have misspelt its name."""
    spec = info.observed.spec
    if spec is not None and spec.suspended:
        return _suspended(info.key, spec, cache)
    needed = info.observed.min_member
    are = "is" if needed == 1 else "are"
    said = f"It has no member yet: {needed} {are} needed, and no pod names it."
    if again := _created_again(info):
        return f"It has no member now: {needed} {are} needed. {again}"
    near = NearNames(cache.gang_queue.infos.values())
    pods = missing_members.text_of(near.members_meant_for(info.key))
    if not pods and (other := near.elsewhere(info.key)) is not None:
        pods = missing_members.text_of_pods_elsewhere(other, hides_names=names.hides)
    return f"{said} {pods[:1].upper()}{pods[1:]}".rstrip()


def _created_again(info: GangInfo) -> str:
    """Return the hint when an evicted gang's pods are created again; "" without an eviction."""
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
    """Return the hint that the workload is suspended, and why this scheduler does not start it."""
    said = "It is suspended (spec.suspend): its controller creates no pods."
    kind = table.BY_NAME[key.source].object_kind or key.source
    found = cache.suspended.kept_back(spec.uid, kind)
    why = [f"setting manageJobs does not list {kind}"] if found.by_kind else []
    if found.names_none:
        why.append("it names no queue")
    if found.absent is not None:
        why.append(f"there are no queues such as {found.absent.kind} {found.absent.name}")
    why += [f"its pod template has schedulerName {name}" for name in sorted(found.schedulers)]
    return f"{said} This scheduler does not let it start: {joined_with_and(why)}." if why else said


def missing_hints(info: GangInfo) -> str:
    """Return the hint which members are missing, if the numbers in the other names show it."""
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
    """Return the names of the missing pods, if the names of pods are numbered from 0."""
    matches = [_NUMBERED.fullmatch(pod.name) for pod in living]
    found = [each for each in matches if each is not None]
    numbers = {int(each[2]) for each in found}
    if len({each[1] for each in found}) == 1 and len(found) == len(matches):
        return [f"{found[0][1]}{number}" for number in _lacking(numbers, living, needed)]
    ranks = {pod.rank[0] for pod in living if len(pod.rank) == 1}
    return [f"index {number}" for number in _lacking(ranks, living, needed)]


def _lacking(numbers: Collection[int], living: Collection[Pod], needed: int) -> list[int]:
    """Return the missing numbers below `needed`; none if a number is larger."""
    if len(numbers) != len(living) or not numbers or max(numbers) >= needed:
        return []
    return [number for number in range(needed) if number not in numbers]


def _sentence(names: Collection[str]) -> str:
    if not names:
        return ""
    shown = [*names][:MOST_NAMED]
    said = joined_with_and(shown) if len(names) == len(shown) else listed([*names], MOST_NAMED)
    return f"Missing: {said}."


NO_NODE_TAKES_IT: Final = "No node takes it"
FOR_GOOD: Final = "It can never start as it is"
TAINT: Final = re.compile(r"untolerated taint (\{.*\})")


def first(found: Explanation, names: Names) -> str:
    """Return the first sentence about a decision on a gang."""
    if found.verdict is Verdict.STARTS:
        return (
            f"There is room for it now, on {listed(found.nodes_taken)}: the next cycle starts it."
        )
    refused = found.refused
    if refused is None:
        return "No member waits."
    selected = _of_labels(found, refused)
    if selected:
        return selected
    if found.verdict is Verdict.MAKES_ROOM and found.evictions is not None:
        return with_end(
            f"{RULES[Reason.WAITING_FOR_VICTIMS].lead}: {_leaving(found.evictions, names)}"
        )
    said = of_refusal(refused, found.room)
    bought = refused.reason is Reason.WAITING_FOR_PROVISIONING
    if refused.misfit is None and found.in_vain and not bought:
        # Freed quota or another turn would not help it.
        return f"{FOR_GOOD}: {room_texts.asked_in_vain(found.in_vain)}. {said}"
    return said if found.beside is None else _both(said, found.beside, found.room)


def _both(quota: str, beside: Beside, found: Room | None) -> str:
    """Return that quota and room are missing, the larger shortfall first."""
    room = of_refusal(beside.refused, found)
    if not beside.first:
        return f"{quota} Quota alone would not start it: {uncapital(room)}"
    lead = RULES[Reason.WAITING_FOR_QUOTA].lead
    return f"{room} {lead}, too{quota.removeprefix(lead)}"


def _barred(found: Barred) -> str:
    """Return which nodes have the requested labels, and why no pod may be on them."""
    some = listed([*found.some, *[""] * (found.nodes - len(found.some))], len(found.some))
    names = joined_with_and(found.some) if found.nodes == len(found.some) else some
    labels = ", ".join(f"{key}={value}" for key, value in found.selector)
    asked = f"nodeSelector {labels}" if labels else "its node affinity"
    said = f"only {names} {'matches' if found.nodes == 1 else 'match'} {asked}"
    why = [(f"taint {taint}", number) for taint, number in found.taints]
    has = [_which(number, found.nodes, ("has", "have"), what) for what, number in why]
    states = (("cordoned", found.cordoned), ("not ready", found.not_ready))
    are = [_which(n, found.nodes, ("is", "are"), state) for state, n in states if n]
    return f"{said}; {joined_with_and([*has, *are])}"


def _which(number: int, of: int, verbs: tuple[str, str], what: str) -> str:
    """Return how many of the nodes have a property, with the verb for one or several."""
    one, several = verbs
    if of == 1:
        return f"it {one} {what}"
    if number == of:
        return f"{'both' if of == 2 else f'all {of}'} {several} {what}"
    return f"{number} {one if number == 1 else several} {what}"


def _of_labels(found: Explanation, refused: Refused) -> str:
    """Return that no node has the requested labels, or why the nodes with them are ruled out."""
    if refused.reason is not Reason.UNSCHEDULABLE:
        return ""
    selected = _selects_in_vain(found)
    if selected:
        return f"{FOR_GOOD}: {selected}."
    return "" if found.barred is None else f"{NO_NODE_TAKES_IT}: {_barred(found.barred)}."


def _selects_in_vain(found: Explanation) -> str:
    """Return a label of the node selector that no node has; "" if each is on some node."""
    hints = (hint for each in found.nodes for hint in each.selectors if not hint.nodes)
    hint = next(hints, None)
    if hint is None:
        return ""
    others = ", ".join(f"{each.value} on {counted(each.nodes, 'node')}" for each in hint.others)
    instead = f"{hint.key} is {others}" if others else "no node has that label"
    return f"no node has {hint.key}={hint.value}; {instead}"


def of_refusal(refused: Refused, room: Room | None = None) -> str:
    """Return why a gang waits: the lead of its reason, and the cause."""
    rejection = refused.with_group
    if rejection is not None:
        mate = rejection.refused
        return f"It starts with gang {mate.gang.key}, which waits. {of_refusal(mate)}"
    if refused.misfit is not None:
        said = with_end(_of_misfit(refused, refused.misfit, room))
        not_bought = messages.not_bought(refused)
        return f"{said} {not_bought[:1].upper()}{not_bought[1:]}" if not_bought else said
    if isinstance(refused.cause, MembersMissing):
        return with_end(f"{RULES[refused.reason].lead}: {_members(refused.cause)}")
    return with_end(f"{RULES[refused.reason].lead}: {text_if_any(refused.cause)}")


def _members(cause: MembersMissing) -> str:
    if cause.roles:
        return role_counts(cause.roles)
    return f"{cause.present} of {cause.min_member} exist"


def _leaving(found: Evictions, names: Names) -> str:
    pods = names.pods(pod for each in found.victims for pod in each.pods)
    if pods:
        number = sum(len(each.pods) for each in found.victims)
        return f"{counted(number, 'pod')} must be evicted, {listed(pods)}"
    awaited = names.pods(found.awaited)
    number = len(found.awaited) or found.leaving
    leaving = f"{counted(number, 'pod')} that {'leaves has' if number == 1 else 'leave have'} gone"
    return f"room is free once {leaving}{f', {listed(awaited)}' if awaited else ''}"


def _of_misfit(refused: Refused, misfit: Misfit, room: Room | None) -> str:
    """Return why members find no place."""
    if misfit.nodes == 0:
        return f"{RULES[Reason.UNSCHEDULABLE].lead}: there are no nodes"
    if refused.empty_flavors or misfit.unlabelled is not None:
        return f"{FOR_GOOD}: {uncapital(room_texts.shortage(refused, misfit).removesuffix('.'))}"
    short = misfit.shortage
    if short is not None and short.oversized:
        return f"{FOR_GOOD}: {uncapital(room_texts.shortage(refused, misfit).removesuffix('.'))}"
    if short is None or short.obstacle.is_room or _gathers(room):
        return f"{RULES[Reason.UNSCHEDULABLE].lead}: {_of_room(refused, misfit, room)}"
    return _of_obstacle(refused, misfit, short.obstacle)


def _shortage(refused: Refused, misfit: Misfit) -> str:
    return uncapital(room_texts.shortage(refused, misfit).removesuffix("."))


def _of_obstacle(refused: Refused, misfit: Misfit, obstacle: Obstacle) -> str:
    """Return which filter keeps members from nodes."""
    lead = NO_NODE_TAKES_IT
    if misfit.fits:
        members = "members fits" if misfit.fits == 1 else "members fit"
        lead = f"Only {misfit.fits} of {misfit.needs} {members}"
    said = room_texts.lacking(misfit).removeprefix("then ")
    more = _more_of(refused, misfit, obstacle)
    return f"{lead}: {said}{f': {more}' if more else ''}"


def _more_of(refused: Refused, misfit: Misfit, obstacle: Obstacle) -> str:
    """Return the property of nodes or of the pod for which a filter rejects nodes."""
    words = [said for said, _ in misfit.rejections]
    if obstacle == taints.obstacle:
        return ", ".join(each for said in words for each in TAINT.findall(said))
    if obstacle == node_affinity.obstacle:
        selector = refused.gang.pending[0].pod_class.node_selector
        return ", ".join(f"{key}={value}" for key, value in selector)
    return words[0] if obstacle.is_quoted and words else ""


def _gathers(room: Room | None) -> bool:
    """Return whether some domain has room for members, but not for all of them."""
    if room is None:
        return False
    return room.where.must and any(each.slots for each in room.where.explained)


def _of_room(refused: Refused, misfit: Misfit, room: Room | None) -> str:
    """Return how many members need room, and how many of them find room."""
    if room is None or not room.where.explained or misfit.cut_off:
        return _shortage(refused, misfit)
    where = room.where
    best, most = where.explained[0], _most(where, where.explained[0])
    asked = _asked(refused, misfit)
    if best.domain is None or not where.must:
        return _anywhere(room, best, asked)
    name = best.domain.rpartition("/")[2]
    if room.a_node == 1 and asked and where.needed > 1:
        return f"no {where.layer} has {where.needed} nodes with {asked} free; {name} has {most}"
    return f"no {where.layer} has room for {_members_of(where, asked)}; {name} has it for {most}"


def _anywhere(room: Room, best: DomainRoom, asked: str) -> str:
    """Return how many members find room on any node."""
    where = room.where
    most = _most(where, best)
    if where.needed == 1:
        wants = f"no node has {asked} free" if asked else "no node has room for it"
        return f"{wants}{_least_short(best)}"
    if room.a_node == 1 and asked:
        have = f"{most} {'has' if best.slots == 1 else 'have'} them{_least_short(best)}"
        return f"it needs {where.needed} nodes with {asked} free, {have}"
    return f"it needs room for {_members_of(where, asked)}, there is room for {most}"


def _members_of(where: Where, asked: str) -> str:
    asking = f" of {asked}" if asked else ""
    if where.needed == 1:
        return f"a member{asking}"
    return f"{where.needed} members{asking}{' each' if asking else ''}"


def _asked(refused: Refused, misfit: Misfit) -> str:
    """Return what each member requests of the missing resource; "" if the requests differ."""
    lacking = misfit.shortage.lacking if misfit.shortage is not None else ()
    resource = lacking[0][0] if lacking else _main_resource(refused)
    amounts = {dict(pod.pod_class.requests).get(resource, 0) for pod in refused.gang.pending}
    if len(amounts) != 1 or resource == PODS:
        return ""
    number = amounts.pop()
    return amount(resource, number) if number else ""


def _main_resource(refused: Refused) -> str:
    names = [name for name, n in refused.gang.pending[0].pod_class.requests if n and name != PODS]
    extended = [name for name in names if "/" in name]
    return (extended or names or [PODS])[0]


def _most(where: Where, best: DomainRoom) -> str:
    if not best.slots:
        return "none"
    return f"at most {best.slots}" if where.at_most else str(best.slots)


def _least_short(best: DomainRoom) -> str:
    near = best.nearest
    if near is None or near.beside or not near.free:
        return ""
    return f"; {near.node} has {amount(near.resource, near.free)} free"


def of_preemption(refused: Refused) -> str:
    """Return the outcome of the attempt to make room by preemption; "" without an attempt."""
    outcome = refused.preemption
    if outcome is None or outcome.verdict is PreemptionVerdict.NO_VICTIMS:
        return ""
    return messages.of_preemption(outcome)
