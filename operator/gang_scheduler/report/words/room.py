"""Sentences on room: the nodes that equal members need, how many exist, and what is missing."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from gang_scheduler.model.plan import (
    DevicesMissing,
    EmptyFlavor,
    IfEmpty,
    Misfit,
    Offers,
    Oversized,
    PreemptionVerdict,
    Refused,
    Shortage,
    Unlabelled,
    Unmatched,
)
from gang_scheduler.model.resources import PODS, quantity
from gang_scheduler.model.topology import Domain

# The nodes that equal members need, how many exist, and why other nodes are ruled out. For example:
# "Needs 7 nodes with 8 free nvidia.com/gpu, 6 have them; 2 more are cordoned."

DOMAINS_NAMED: Final = 3
OBSTACLES_NAMED: Final = 2


def needs(refused: Refused, misfit: Misfit) -> str:
    """Return the nodes that the members need and how many there are.

    Returns "" if that would not be true: members differ, or rules between pods matter.
    """
    short = misfit.shortage
    if short is None or not short.asked or misfit.at_most or not _are_alike(refused, misfit):
        return ""
    first = _first(refused, misfit, short)
    return "; ".join((first, *_ruled_out(misfit, short), *_nearest(misfit, short))) if first else ""


def rooms_needed(offers: Offers) -> Iterator[tuple[str, int]]:
    """Yield the names of the best domains, each with the number of members that fit."""
    shown = offers.best[:DOMAINS_NAMED]
    called = Counter(domain.path[-1:] for domain, _ in shown)
    for domain, room in shown:
        yield name(domain) if called[domain.path[-1:]] == 1 else "/".join(domain.path), room


def and_more(offers: Offers) -> str:
    """Return how many other domains there are."""
    left = max(0, len(offers.best) - DOMAINS_NAMED) + offers.more
    return f" and {left} more" if left else ""


def name(domain: Domain) -> str:
    """Return the last part of the path of a domain."""
    return domain.path[-1]


def of_the_best(offers: Offers | None, before: str) -> str:
    """Return the name of the best domain after a word; "" if it is the whole cluster."""
    if offers is None or not offers.best or not offers.best[0][0].path:
        return ""
    return f"{before} {name(offers.best[0][0])}"


def amounts(asked: tuple[tuple[str, int], ...], adjective: str = "") -> str:
    """Return amounts as a list in words."""
    *others, last = (_amount(*each, adjective) for each in asked)
    return f"{', '.join(others)} and {last}" if others else last


def _are_alike(refused: Refused, misfit: Misfit) -> bool:
    pending = refused.gang.pending
    return misfit.needs <= len(pending) and len({pod.pod_class for pod in pending}) == 1


def _first(refused: Refused, misfit: Misfit, short: Shortage) -> str:
    offers = misfit.offers
    if offers is None:
        return _in_one_place(refused, misfit, short)
    if not offers.best or not offers.best[0][0].path:
        return ""
    if len(offers.best) + offers.more == 1:
        (domain, _), *_ = offers.best
        where = f" in {domain.layer} {name(domain)}{_in_slices(offers)}"
        return _in_one_place(refused, misfit, short, where)
    return _in_no_domain(misfit, offers, short)


def _in_one_place(refused: Refused, misfit: Misfit, short: Shortage, where: str = "") -> str:
    more = "more " if refused.gang.bound else ""
    free = amounts(short.asked, "free ")
    if misfit.needs == 1:
        one = "one more" if more else "a"
        return f"needs {one} node with {free}{where}, and {_have(0, short)}"
    if short.one_a_node:
        found = _have(misfit.fits, short)
        return f"needs {misfit.needs} {more}nodes with {free}{where}, {found}"
    what = f"{misfit.needs} {more}members with {amounts(short.asked)} each"
    there = f"there is room for {misfit.fits}" if misfit.fits else "there is none"
    return f"needs room for {what}{where}, and {there}"


def _in_no_domain(misfit: Misfit, offers: Offers, short: Shortage) -> str:
    layer, needs = offers.best[0][0].layer, misfit.needs
    if offers.multiples or not short.one_a_node:
        members = "a member" if needs == 1 else f"{needs} members"
        each = "" if needs == 1 else " each"
        asked = amounts(short.asked)
        what = f"room for {members} with {asked}{each}{_in_slices(offers)}"
        found = (f"{where} for {room or 'none'}" for where, room in rooms_needed(offers))
    else:
        nodes = "a node" if needs == 1 else f"{needs} nodes"
        what = f"{nodes} with {amounts(short.asked, 'free ')}"
        found = (f"{where} has {room or 'none'}" for where, room in rooms_needed(offers))
    listed = f": {', '.join(found)}{and_more(offers)}" if misfit.fits else ""
    return f"no {layer} has {what}{listed}"


def _in_slices(offers: Offers) -> str:
    return " in whole slices" if offers.multiples else ""


def _have(fits: int, short: Shortage) -> str:
    if not fits:
        return f"none{' that it may use' if short.ruled_out else ''} has {_them(short)}"
    return f"{fits} {'has' if fits == 1 else 'have'} {_them(short)}"


def _them(short: Shortage) -> str:
    (resource, asked), *others = short.asked
    one = quantity(resource, asked)
    return "it" if not others and (one == "1" or not one[-1].isdigit()) else "them"


def _ruled_out(misfit: Misfit, short: Shortage) -> Iterator[str]:
    """Yield the words on nodes that have room and are ruled out."""
    # Nodes that may come back come first.
    by_hope = sorted(short.ruled_out, key=lambda each: not each[0].is_out)
    said = []
    for obstacle, number in by_hope[:OBSTACLES_NAMED]:
        others = "more" if misfit.fits else "other"
        nodes = " node" if number == 1 else " nodes"
        if short.one_a_node and misfit.fits:
            nodes = ""
        said.append(f"{number} {others}{nodes} {obstacle.words(number)}")
    if said:
        yield f"{of_the_best(misfit.offers, 'in')} {', '.join(said)}".strip()


def _nearest(misfit: Misfit, short: Shortage) -> Iterator[str]:
    """Yield the missing amounts on the nearest node, if it has part of what a member requests."""
    if short.lacking and set(short.lacking) != set(short.asked):
        other = "next" if misfit.fits else "nearest"
        where = of_the_best(misfit.offers, " of")
        yield f"the {other} node{where} is short of {amounts(short.lacking)}"


def _amount(resource: str, number: int, adjective: str) -> str:
    if resource == PODS:
        return f"room for {number} more {'pod' if number == 1 else 'pods'}"
    return f"{quantity(resource, number)} {adjective}{resource}"


# The first words about a gang without room: what is missing, and whether the gang can ever fit.
# These plain words come before those of kube-scheduler.

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
    "add nodes whose driver publishes such devices in ResourceSlices, or whose device plugin "
    "offers the resource."
)
_NO_DRA: Final = (
    "add nodes whose device plugin offers it, or set dra to auto on a cluster that serves "
    "resource.k8s.io/v1."
)
_LAYER: Final = "ask for another layer, or label the nodes."
_FLAVOR: Final = "add such nodes, or change the labels of the flavor."
_OTHERS: Final = "change what it asks for, or the nodes."
_BACK: Final = "bring these nodes back, or add others."


def shortage(refused: Refused, misfit: Misfit) -> str:
    """Return which resources are missing, and how many members fit.

    Resources that no node has come first.
    """
    if refused.empty_flavors:
        return f"No node is of {' or '.join(map(_flavor, refused.empty_flavors))}."
    if misfit.unlabelled is not None:
        said = lacking(misfit)
        return f"{said[:1].upper()}{said[1:]}."
    if misfit.shortage is not None and misfit.shortage.oversized:
        alike = len({pod.pod_class for pod in refused.gang.pending}) == 1
        said = lacking(misfit, "each member" if alike else "a member")
        return f"{said[:1].upper()}{said[1:]}."
    said = needs(refused, misfit)
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
    """Return whether the gang can ever fit; "" if that is unknown."""
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
        if all(each.as_devices for each in missing):
            return _DEVICES
        return _NO_DRA if all(each.device_class for each in missing) else _ANOTHER
    if short is not None and short.obstacle.is_out:
        return _BACK
    return _LESS if short is None or short.obstacle.is_room else _OTHERS


def _while_out(misfit: Misfit) -> str:
    out = misfit.shortage.out if misfit.shortage is not None else 0
    are = "is" if out == 1 else "are"
    return f" while {out} of {misfit.nodes} nodes {are} cordoned or not ready" if out else ""


def lacking(misfit: Misfit, member: str = "a member") -> str:
    """Return the shortage of the next member in words; "" if there is room on every node."""
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
        best = of_the_best(misfit.offers, " of")
        return f"{be} of {amounts(short.lacking)} on one node{best}"
    if short.devices is not None:
        return _too_few_devices(misfit, short.devices, member)
    if short.unmatched:
        return "; ".join(map(_unmatched, short.unmatched))
    then = "then " if misfit.fits else ""
    return f"{then}{short.nodes} of {misfit.nodes} nodes {short.obstacle.words(short.nodes)}"


def _too_few_devices(misfit: Misfit, devices: DevicesMissing, member: str) -> str:
    who = "then the next one " if misfit.fits else "" if misfit.needs == 1 else f"{member} "
    conditions = f" {devices.conditions}" if devices.conditions else ""
    what = f"{who}needs {devices.needed} {devices.device_class}{conditions} on one node"
    if devices.resource:
        given = f"which DeviceClass {devices.device_class} gives, on one node"
        what = f"{who}needs {devices.needed} {devices.resource}, {given}"
    if not devices.there:
        return f"{what}, and no node has one"
    if devices.free == devices.there:
        return f"{what}; the best node has {devices.there}"
    return f"{what}; the best node has {devices.free or 'none'} of {devices.there} free"


def asked_in_vain(oversized: Iterable[Oversized], member: str = "a member") -> str:
    """Return the requests of a pod that no node can meet."""
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
    """Return how many members fit in the best of the domains that could hold them all."""
    if not offers.best:
        return "no domain has nodes for it"
    layer = offers.best[0][0].layer
    where = f"the best {layer}" if offers.best[0][0].path else "the cluster"
    most = "at most " if misfit.at_most else ""
    whole = " in whole slices" if offers.multiples else ""
    room = f"{where} has room for {most}{misfit.fits} of {misfit.needs}{whole}"
    if not offers.best[0][0].path:
        return room
    rooms = ", ".join(f"{name} {room}" for name, room in rooms_needed(offers))
    return f"{room}: {rooms}{and_more(offers)}"


def _without_label(layer: Unlabelled) -> str:
    meant = f" (did you mean {layer.near}?)" if layer.near else ""
    return f"no node has the label {' or '.join(layer.label_keys)}{meant}"


def _unmatched(each: Unmatched) -> str:
    meant = f" (did you mean {each.near}?)" if each.near else ""
    return f"no node has the label {each.key}={each.value} that nodeSelector asks for{meant}"


def _too_large(each: Oversized) -> str:
    asked = quantity(each.resource, each.asked)
    if each.device_class and not each.as_devices:
        offers = f"DeviceClass {each.device_class} offers it"
        return f"{asked} {each.resource}, and no node has {each.resource}: {offers}"
    said = f"{asked} {each.resource}"
    if each.as_devices:
        said += f", which DeviceClass {each.device_class} gives"
    if not each.anywhere:
        meant = f" (did you mean {each.near}?)" if each.near else ""
        what = "such devices" if each.as_devices else each.resource
        return f"{said}, and no node has {what}{meant}"
    if not each.largest:
        return f"{said}, and none of the nodes it may use has {each.resource}"
    which = "the largest node" if each.largest == each.anywhere else "the largest it may use"
    return f"{said}, and {which} has {quantity(each.resource, each.largest)}"
