"""Messages for verdicts: the text in conditions, Events and the output of `simulate`.

Plain words come first, then the words of kube-scheduler about nodes and of Koordinator about
domains. No code decides anything by these texts.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from gang_scheduler.api.conditions import Finding
from gang_scheduler.api.parsing import message
from gang_scheduler.model.causes.queues import NotProvisioned, TooManyPodSets
from gang_scheduler.model.failures import Degraded, FailedNode, LostNode, NodeFailure
from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.plan import (
    Bind,
    GroupRejection,
    Misfit,
    Offers,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.wording import counted, rfc3339
from gang_scheduler.report.words import room
from gang_scheduler.report.words.text import text_if_any, text_of
from gang_scheduler.state.gangs.gang_info import GangInfo

CUT_OFF = "The search for a place was cut off; it is made again."
UNDER_WAY = "not eligible due to terminating pod on the nominated node."
NOT_HELPFUL = "not helpful: evicting every pod that may be evicted would not make room."
NONE_FOUND = "the search was cut off before it found pods to evict; it is made again."
IN_ALL_PLACES = "Nodes are counted after placing members wherever there is room."
NOT_ALL_SEEN = "The search was cut off: there may be cheaper ones."


def describe(refused: Refused) -> str:
    """Return the message for people: the shortage of the gang, and whether it can ever fit.

    Then the same in familiar words: kube-scheduler's about nodes, Koordinator's about domains.
    """
    cut_off = refused.misfit is not None and refused.misfit.cut_off
    rejection = refused.with_group
    said = _joined(
        _of_group(rejection) if rejection is not None else _shortage(refused),
        CUT_OFF if cut_off else "",
        not_bought(refused),
        f"preemption: {of_preemption(refused.preemption)}" if refused.preemption else "",
    )
    return message(said)


def _shortage(refused: Refused) -> str:
    misfit = refused.misfit
    if misfit is None:
        said = text_if_any(refused.cause)
        return f"{said}." if said and refused.preemption else said
    if refused.left_over or refused.gang.was_whole:
        gang = f"Gang {refused.gang.key} has started"
        placed = "The quorum has a place" if refused.left_over else gang
        return _joined(f"{placed}; {_members(refused, misfit)}", _nodes(misfit))
    return _joined(
        room.shortage(refused, misfit),
        room.if_empty(refused, misfit),
        _nodes(misfit) if misfit.offers is None else _no_domain(misfit, misfit.offers),
        _assumed(refused.gang, misfit),
    )


def not_bought(refused: Refused) -> str:
    """Return why no nodes could be requested for a gang without room; "" if none were wanted."""
    if refused.misfit is None and refused.with_group is None:
        return ""
    said = isinstance(refused.cause, (NotProvisioned, TooManyPodSets))
    return f"{text_if_any(refused.cause)}." if said else ""


def by_reason(problems: Iterable[Problem]) -> dict[Reason, str]:
    """Return the full message for each reason."""
    texts: dict[Reason, list[str]] = defaultdict(list)
    for problem in problems:
        texts[problem.reason].append(text_of(problem.cause))
    return {reason: "; ".join(found) for reason, found in texts.items()}


def of_preemption(outcome: PreemptionOutcome) -> str:
    """Return the result of the attempted preemption; "" if no pod could have been evicted."""
    words = _joined(*_of_preemption(outcome))
    if outcome.attempted_by is None:
        return words
    return f"preemption already attempted by {outcome.attempted_by} with message {words}"


def _of_preemption(outcome: PreemptionOutcome) -> Iterator[str]:
    """Yield the sentences about an attempt to preempt."""
    match outcome.verdict:
        case PreemptionVerdict.BLOCKED if outcome.block is not None:
            yield blocked(outcome.block)
        case PreemptionVerdict.NOT_HELPFUL | PreemptionVerdict.NONE_FOUND as verdict:
            yield NOT_HELPFUL if verdict is PreemptionVerdict.NOT_HELPFUL else NONE_FOUND
            yield f"At best: {offered(outcome.offers)}." if outcome.offers else ""
        case PreemptionVerdict.TOO_MANY_VICTIMS:
            yield f"needs {outcome.victims} victims, and at most {outcome.limit} are allowed."
        case PreemptionVerdict.TERMINATING:
            yield UNDER_WAY
        case PreemptionVerdict.EVICTING:
            pods = "1 pod is" if outcome.victims == 1 else f"{outcome.victims} pods are"
            yield f"{pods} evicted to make room."
            yield NOT_ALL_SEEN if outcome.cut_off else ""


def blocked(block: PreemptionBlock) -> str:
    """Return why a gang may not evict pods, in kube-scheduler's words if it has any."""
    match block.cause:
        case BlockCause.SWITCHED_OFF:
            return "preemption is switched off"
        case BlockCause.POLICY_NEVER:
            return f"pod {block.pod} has preemptionPolicy Never"
        case BlockCause.TOO_MANY_ROUNDS:
            return f"{block.rounds} preemption rounds in 10 minutes were not enough"
        case BlockCause.IN_VAIN:
            return (
                f"{block.rounds} preemptions for gangs of this namespace and queue came to nothing "
                "in 10 minutes"
            )
        case BlockCause.UNDER_WAY:
            return UNDER_WAY


def _of_group(rejection: GroupRejection) -> str:
    """Return the message for the other gangs of a group if one gang does not fit."""
    return (
        f"Gang {rejection.refused.gang.key}, which starts with it, does not fit. "
        f'GangGroup "{rejection.group}" gets rejected due to member Pod "{rejection.pod}" is '
        f'unschedulable with reason "{describe(rejection.refused)}"'
    )


def offered(offers: Offers) -> str:
    """Return how many members fit in the best domains, and how many other domains there are."""
    names = short_names(domain for domain, _ in offers.best)
    best = (f"topology topologyNode {names[each]}: {slots}" for each, slots in offers.best)
    return ";".join(best) + _and_more(offers)


def short_names(domains: Iterable[Domain]) -> dict[Domain, str]:
    """Return LAYER/NAME of each domain, or its whole path if several have the same name."""
    names = {each: "/".join((each.layer, *each.path[-1:])) for each in domains}
    called = Counter(names.values())
    return {each: name if called[name] == 1 else str(each) for each, name in names.items()}


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _nodes(misfit: Misfit) -> str:
    if misfit.nodes == 0:
        return "no nodes available to schedule pods."
    reasons = ", ".join(f"{number} {words}" for words, number in misfit.rejections)
    # Every node may have room, and still no single domain has enough.
    return f"0/{misfit.nodes} nodes are available: {reasons}." if reasons else ""


def _no_domain(misfit: Misfit, offers: Offers) -> str:
    parts = (
        "no candidate topology nodes can accommodate job",
        f"desiredOfferSlot: {misfit.needs}",
        offered(offers),
        _nodes(misfit),
    )
    multiples = _multiples(offers)
    ending = f"; podCountMultiple constraints: {multiples}" if multiples else ""
    return ", ".join(filter(None, parts)) + ending


def _members(refused: Refused, misfit: Misfit) -> str:
    number = len(refused.pods)
    members = "1 more member" if number == 1 else f"each of {number} more members"
    lacking = room.lacking(misfit)
    where = _where(misfit.offers) if misfit.offers else ""
    step = _step(refused.gang)
    return f"{members} waits for room{step}{where}{f': {lacking}' if lacking else ''}."


def _step(gang: Gang) -> str:
    """Return how many workers a gang adds at once, if it has started and adds more than one."""
    size = gang.elastic_size
    if size is None or size.changed_at is None or size.elastic.up_step == 1:
        return ""
    return f" for {size.elastic.up_step} at once (scaleUpStep)"


def _where(offers: Offers) -> str:
    names = short_names(domain for domain, _ in offers.best)
    one_of = "one of " if len(names) > 1 else ""
    where = f" in {one_of}{', '.join(names.values())}{_and_more(offers)}" if names else ""
    multiples = _multiples(offers)
    return f"{where} (podCountMultiple {multiples})" if multiples else where


def _and_more(offers: Offers) -> str:
    domains = "domain" if offers.more == 1 else "domains"
    return f" and {offers.more} more {domains}" if offers.more else ""


def _multiples(offers: Offers) -> str:
    return ", ".join(f"{layer}={number}" for layer, number in offers.multiples)


def _assumed(gang: Gang, misfit: Misfit) -> str:
    """Return which members were assumed on nodes before the nodes were counted; "" for none."""
    if not misfit.rejections or not misfit.fits:
        return ""
    if misfit.offers is None:
        return (
            f"Nodes are counted after placing {misfit.fits} of the {misfit.needs} members that "
            f"gang {gang.key} needs at once."
        )
    return IN_ALL_PLACES


# Messages for a gang that lost members with failed nodes, or cannot replace lost members.

DEGRADED_TYPE: Final = "DegradedDomain"
WHOLE: Final = "Whole"
NAMES_SHOWN: Final = 10


def degraded_finding(degraded: Degraded | None) -> Finding:
    """Return the condition of a gang; its reason says why the gang is not whole."""
    if degraded is None:
        return Finding(DEGRADED_TYPE, status=False, reason=WHOLE)
    return Finding(
        DEGRADED_TYPE, status=True, reason=degraded.reason, message=degraded_words(degraded)
    )


def degraded_words(degraded: Degraded) -> str:
    """Return the domain, the failed nodes, the pods that do not terminate, and the shortage."""
    where = str(degraded.domain) if degraded.domain is not None else "the cluster"
    said = [f"{degraded.lacking} of {degraded.needed} members lack in {where}"]
    if degraded.nodes:
        said.append(f"failed: {_few(map(_node, degraded.nodes), degraded.nodes)}")
    if degraded.on_failed:
        said.append(
            f"not deleted yet: {_few(_where_degraded(degraded.on_failed), degraded.on_failed)}"
        )
    if degraded.stuck:
        said.append(f"stuck: {stuck(degraded.stuck)}")
    return "; ".join((*said, _of_replacements(degraded)))


def stuck(pods: Collection[Pod]) -> str:
    """Return pods and their nodes."""
    return _few(_where_degraded(pods), pods)


def _of_replacements(degraded: Degraded) -> str:
    """Return the sentence about members that replace lost ones."""
    if not degraded.waiting:
        return "no member waits in their place"
    waiting = counted(degraded.waiting, "member")
    wait = "waits" if degraded.waiting == 1 else "wait"
    if degraded.refused is None:
        return f"{waiting} {wait} in their place"
    return f"{waiting} {wait} in their place without room: {describe(degraded.refused)}"


def _node(lost: LostNode) -> str:
    return f"node {lost.name} ({_failure(lost.failed)})"


def _failure(failed: FailedNode | None) -> str:
    if failed is None:
        return "not ready"
    if failed.failure is NodeFailure.GONE:
        return "gone"
    if failed.failure is NodeFailure.TAINTED:
        return f"taint {failed.taint}"
    return f"not ready since {rfc3339(failed.since)}"


def _where_degraded(pods: Iterable[Pod]) -> Iterator[str]:
    return (f"{pod.name} on {pod.node}" for pod in pods)


def _few(names: Iterable[str], all_of_them: Collection[object]) -> str:
    more = len(all_of_them) - NAMES_SHOWN
    shown = ", ".join(islice(names, NAMES_SHOWN))
    return f"{shown} and {more} more" if more > 0 else shown


# Messages for elastic gangs: the number of workers, when it changed, and why.

SCALED_UP, SCALED_DOWN = "ScaledUp", "ScaledDown"
REPLICAS_CHANGED, REPLICAS_FAILED = "ReplicasChanged", "ElasticFailed"
REPLICAS_STOPPED: Final = "ElasticStopped"


def status_of(info: GangInfo) -> dict[str, Any] | None:
    """Return the workers of a gang, as its status has them; None if it is not elastic."""
    scaling = info.scaling
    elastic, changed_at = scaling.elastic, scaling.changed_at
    if elastic is None:
        return None
    has_changed = changed_at is not None
    return {
        "min": elastic.min_workers,
        "now": len(scaling.workers()),
        "max": elastic.max_workers,
        "lastScaleTime": rfc3339(changed_at) if changed_at is not None else None,
        "lastScale": scaling.by if has_changed else None,
        "reason": scaling.reason.value if scaling.reason is not None else None,
        "nextAllowed": rfc3339(changed_at + elastic.up_cooldown)
        if changed_at is not None and elastic.up_cooldown
        else None,
    }


def scaled_up(gang: Gang, binds: Collection[Bind]) -> str:
    """Return how a gang has grown by these members; "" for a start, or for mere replacements."""
    size = gang.elastic_size
    if size is None or size.changed_at is None:
        return ""
    number = size.bound + sum(size.elastic.counts(bind.pod) for bind in binds)
    if number <= max(size.after_change, size.elastic.min_workers):
        return ""
    return f"From {size.bound} to {number} workers of at most {size.elastic.max_workers}"


def scaled_down(info: GangInfo, pods: Collection[Pod], by: str) -> str:
    """Return how a gang shrinks by losing these members; "" if it loses all, or is not elastic."""
    elastic, size = info.scaling.elastic, info.scaling.size
    number = sum(elastic.counts(pod) for pod in pods) if elastic is not None else 0
    if elastic is None or not number or size < elastic.min_workers:
        return ""
    return f"From {size + number} to {size} workers of at least {elastic.min_workers}, for {by}"
