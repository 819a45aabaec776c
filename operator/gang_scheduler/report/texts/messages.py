"""The words for verdicts: what people read in conditions, Events and the output of `simulate`.

Plain words first, then those of kube-scheduler about nodes, and of Koordinator about domains.
Nothing decides on them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from gang_scheduler.api.parsing import message
from gang_scheduler.model.causes.provisioning import NotProvisioned, TooManyPodSets
from gang_scheduler.model.gangs import BlockCause, Gang, PreemptionBlock
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.plan import (
    GroupRejection,
    Misfit,
    Offers,
    PreemptionOutcome,
    PreemptionVerdict,
    Refused,
)
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.report.texts import room_texts
from gang_scheduler.report.texts.cause_texts import text_if_any, text_of

CUT_OFF = "The search for a place was cut off; it is made again."
UNDER_WAY = "not eligible due to terminating pod on the nominated node."
NOT_HELPFUL = "not helpful: evicting every pod that may be evicted would not make room."
NONE_FOUND = "the search was cut off before it found pods to evict; it is made again."
IN_ALL_PLACES = "Nodes are counted once members have every free place."
NOT_ALL_SEEN = "The search was cut off: there may be cheaper ones."


def describe(refused: Refused) -> str:
    """Return the message for people: what the gang is short of, and whether it can ever fit.

    Then the words that some may know: kube-scheduler's about nodes, Koordinator's about domains.
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
        room_texts.shortage(refused, misfit),
        room_texts.if_empty(refused, misfit),
        _nodes(misfit) if misfit.offers is None else _no_domain(misfit, misfit.offers),
        _assumed(refused.gang, misfit),
    )


def not_bought(refused: Refused) -> str:
    """Return why no nodes could be bought for what lacks room; "" for nothing that was asked."""
    if refused.misfit is None and refused.with_group is None:
        return ""
    said = isinstance(refused.cause, (NotProvisioned, TooManyPodSets))
    return f"{text_if_any(refused.cause)}." if said else ""


def by_reason(problems: Iterable[Problem]) -> dict[Reason, str]:
    """Return all there is to say for each reason."""
    texts: dict[Reason, list[str]] = defaultdict(list)
    for problem in problems:
        texts[problem.reason].append(text_of(problem.cause))
    return {reason: "; ".join(found) for reason, found in texts.items()}


def of_preemption(outcome: PreemptionOutcome) -> str:
    """Return what came of the try to make room; "" where no pod could have left."""
    words = _joined(*_of_preemption(outcome))
    if outcome.attempted_by is None:
        return words
    return f"preemption already attempted by {outcome.attempted_by} with message {words}"


def _of_preemption(outcome: PreemptionOutcome) -> Iterator[str]:
    """Yield the sentences about a try to make room."""
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
    """Return why a gang may not evict pods: kube-scheduler's words where it has any."""
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
    """Return what the other gangs of a group are told when one of them does not fit."""
    return (
        f"Gang {rejection.refused.gang.key}, which starts with it, does not fit. "
        f'GangGroup "{rejection.group}" gets rejected due to member Pod "{rejection.pod}" is '
        f'unschedulable with reason "{describe(rejection.refused)}"'
    )


def offered(offers: Offers) -> str:
    """Return what the best domains offer, and how many others there are."""
    names = short_names(domain for domain, _ in offers.best)
    best = (f"topology topologyNode {names[each]}: {slots}" for each, slots in offers.best)
    return ";".join(best) + _and_more(offers)


def short_names(domains: Iterable[Domain]) -> dict[Domain, str]:
    """Return LAYER/NAME of each, or its whole path where another one here is called the same."""
    names = {each: "/".join((each.layer, *each.path[-1:])) for each in domains}
    called = Counter(names.values())
    return {each: name if called[name] == 1 else str(each) for each, name in names.items()}


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _nodes(misfit: Misfit) -> str:
    if misfit.nodes == 0:
        return "no nodes available to schedule pods."
    reasons = ", ".join(f"{number} {words}" for words, number in misfit.rejections)
    # Every node may have room, and still no domain as much as is needed.
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
    lacking = room_texts.lacking(misfit)
    where = _where(misfit.offers) if misfit.offers else ""
    step = _step(refused.gang)
    return f"{members} waits for room{step}{where}{f': {lacking}' if lacking else ''}."


def _step(gang: Gang) -> str:
    """Return how many workers of a gang come at once, if it has started and these are several."""
    pace = gang.pace
    if pace is None or pace.changed_at is None or pace.elastic.up_step == 1:
        return ""
    return f" for {pace.elastic.up_step} at once (scaleUpStep)"


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
    """Return what was assumed on the nodes before they were counted; "" for nothing."""
    if not misfit.rejections or not misfit.fits:
        return ""
    if misfit.offers is None:
        return (
            f"This is once {misfit.fits} of the {misfit.needs} members that gang {gang.key} needs "
            "at once have a place."
        )
    return IN_ALL_PLACES
