"""What people read first of a gang that has no room: what is short, and whether it ever fits.

Plain words, before those of kube-scheduler.
"""

from collections.abc import Iterable
from typing import Final

from gang_scheduler.model.plan import (
    EmptyFlavor,
    IfEmpty,
    Misfit,
    Obstacle,
    Offers,
    Oversized,
    PreemptionVerdict,
    Refused,
    Shortage,
    Unlabelled,
    Unmatched,
)
from gang_scheduler.model.resources import quantity
from gang_scheduler.report.texts import needs_texts

_IF_EMPTY: Final = {
    IfEmpty.FITS: "It would fit the empty cluster.",
    IfEmpty.NOT_SEARCHED: "Whether it would fit the empty cluster was not searched to the end.",
}
_OTHERS_END: Final = "It would fit the empty cluster: it waits for other pods to end."
_NO_POD_LEAVES: Final = (
    PreemptionVerdict.NO_VICTIMS,
    PreemptionVerdict.BLOCKED,
    PreemptionVerdict.NOT_HELPFUL,
)
_TOO_LARGE: Final = "It would not fit even the empty cluster"
_LESS: Final = "ask for less, or add nodes."
_LARGER: Final = "ask for less, or add larger nodes."
_ANOTHER: Final = "ask for another resource, or add nodes that have it."
_DEVICES: Final = (
    "add nodes whose device plugin offers it; this scheduler does not allocate devices yet."
)
_LAYER: Final = "ask for another layer, or label the nodes."
_FLAVOR: Final = "add such nodes, or change the labels of the flavor."
_OTHERS: Final = "change what it asks for, or the nodes."
_BACK: Final = "bring these nodes back, or add others."


def shortage(refused: Refused, misfit: Misfit) -> str:
    """Return what is short, and how many members fit now; first what no node has."""
    if refused.empty_flavors:
        return f"No node is of {' or '.join(map(_flavor, refused.empty_flavors))}."
    if misfit.unlabelled is not None:
        said = lacking(misfit)
        return f"{said[:1].upper()}{said[1:]}."
    if misfit.shortage is not None and misfit.shortage.oversized:
        alike = len({pod.pod_class for pod in refused.gang.pending}) == 1
        said = lacking(misfit, "each member" if alike else "a member")
        return f"{said[:1].upper()}{said[1:]}."
    said = needs_texts.needs(refused, misfit)
    parts = (
        (said,)
        if said
        else (
            _counted(refused, misfit),
            _in_domains(misfit, misfit.offers) if misfit.offers is not None else "",
            lacking(misfit),
        )
    )
    said = "; ".join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def if_empty(refused: Refused, misfit: Misfit) -> str:
    """Return whether the gang can ever fit; "" where that is not known."""
    if refused.if_empty is None or misfit.nodes == 0:
        return ""
    tried = refused.preemption
    if refused.if_empty is IfEmpty.FITS and (tried is None or tried.verdict in _NO_POD_LEAVES):
        return _OTHERS_END
    if refused.if_empty is not IfEmpty.TOO_LARGE:
        return _IF_EMPTY[refused.if_empty]
    way_out = _FLAVOR if refused.empty_flavors else _way_out(misfit)
    return f"{_TOO_LARGE}{_while_out(misfit)}: {way_out}"


def _way_out(misfit: Misfit) -> str:
    if misfit.unlabelled is not None:
        return _LAYER
    short = misfit.shortage
    if short is not None and short.oversized:
        if all(each.largest for each in short.oversized):
            return _LARGER
        missing = [each for each in short.oversized if not each.largest]
        return _DEVICES if all(each.device_class for each in missing) else _ANOTHER
    if short is not None and short.obstacle in needs_texts.OUT:
        return _BACK
    return _LESS if short is None or short.obstacle is Obstacle.RESOURCES else _OTHERS


def _while_out(misfit: Misfit) -> str:
    out = misfit.shortage.out if misfit.shortage is not None else 0
    are = "is" if out == 1 else "are"
    return f" while {out} of {misfit.nodes} nodes {are} cordoned or not ready" if out else ""


def lacking(misfit: Misfit, member: str = "a member") -> str:
    """Return what the next member is short of; "" if there is room on every node."""
    if misfit.nodes == 0:
        return "there are no nodes"
    if misfit.unlabelled is not None:
        return _without_label(misfit.unlabelled)
    return _short_of(misfit, misfit.shortage, member) if misfit.shortage is not None else ""


def _short_of(misfit: Misfit, short: Shortage, member: str) -> str:
    if short.oversized:
        return asked_in_vain(short.oversized, "it" if misfit.needs == 1 else member)
    if short.lacking:
        more = misfit.needs - misfit.fits > 1 and not misfit.at_most
        which = "next" if misfit.fits else "first"
        be = f"the {which} one is short" if more else "short"
        best = needs_texts.of_the_best(misfit.offers, " of")
        return f"{be} of {needs_texts.amounts(short.lacking)} on one node{best}"
    if short.unmatched:
        return "; ".join(map(_unmatched, short.unmatched))
    one, several = needs_texts.OBSTACLES[short.obstacle]
    then = "then " if misfit.fits else ""
    return f"{then}{short.nodes} of {misfit.nodes} nodes {one if short.nodes == 1 else several}"


def asked_in_vain(oversized: Iterable[Oversized], member: str = "a member") -> str:
    """Return what a pod asks that no node has."""
    return f"{member} asks {'; '.join(map(_too_large, oversized))}"


def _flavor(flavor: EmptyFlavor) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in flavor.labels)
    return f'flavor "{flavor.name}" (labels {labels})'


def _counted(refused: Refused, misfit: Misfit) -> str:
    """Return how many members fit; "" for a single pod."""
    if misfit.needs == 1:
        return ""
    most = "at most " if misfit.at_most else ""
    return f"{most}{misfit.fits} of {misfit.needs} {_members(refused, misfit)} fit now"


def _members(refused: Refused, misfit: Misfit) -> str:
    gang, needs = refused.gang, misfit.needs
    if needs > len(gang.pending):
        return "members of its group"
    if gang.bound:
        return "missing members"
    return "members" if needs >= gang.quorum else "members that go together"


def _in_domains(misfit: Misfit, offers: Offers) -> str:
    """Return what the best of the domains offer in which members could have gathered."""
    if not offers.best:
        return "no domain has nodes for it"
    layer = offers.best[0][0].layer
    where = f"the best {layer}" if offers.best[0][0].path else "the cluster"
    most = "at most " if misfit.at_most else ""
    whole = " in whole slices" if offers.multiples else ""
    room = f"{where} has room for {most}{misfit.fits} of {misfit.needs}{whole}"
    if not offers.best[0][0].path:
        return room
    rooms = ", ".join(f"{name} {room}" for name, room in needs_texts.rooms(offers))
    return f"{room}: {rooms}{needs_texts.and_more(offers)}"


def _without_label(layer: Unlabelled) -> str:
    meant = f" (did you mean {layer.near}?)" if layer.near else ""
    return f"no node has the label {' or '.join(layer.label_keys)}{meant}"


def _unmatched(each: Unmatched) -> str:
    meant = f" (did you mean {each.near}?)" if each.near else ""
    return f"no node has the label {each.key}={each.value} that nodeSelector asks for{meant}"


def _too_large(each: Oversized) -> str:
    asked = quantity(each.resource, each.asked)
    if each.device_class:
        offers = f"DeviceClass {each.device_class} offers it"
        return f"{asked} {each.resource}, and no node has {each.resource}: {offers}"
    if not each.anywhere:
        meant = f" (did you mean {each.near}?)" if each.near else ""
        return f"{asked} {each.resource}, and no node has {each.resource}{meant}"
    if not each.largest:
        return f"{asked} {each.resource}, and none of the nodes it may use has {each.resource}"
    which = "the largest node" if each.largest == each.anywhere else "the largest it may use"
    return f"{asked} {each.resource}, and {which} has {quantity(each.resource, each.largest)}"
