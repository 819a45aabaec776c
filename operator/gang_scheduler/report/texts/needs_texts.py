"""What members that are alike need, how much of it there is, and what rules out the rest.

As in "Needs 7 nodes with 8 free nvidia.com/gpu, 6 have them; 2 more are cordoned."
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.plan import Misfit, Obstacle, Offers, Refused, Shortage
from gang_scheduler.model.resources import PODS, quantity

DOMAINS_NAMED: Final = 3
OBSTACLES_NAMED: Final = 2

OBSTACLES: Final = {
    Obstacle.UNSCHEDULABLE: ("is cordoned", "are cordoned"),
    Obstacle.NOT_READY: ("is not ready", "are not ready"),
    Obstacle.TAINTS: (
        "has a taint that the pod does not tolerate",
        "have taints that the pod does not tolerate",
    ),
    Obstacle.NODE_AFFINITY: (
        "does not match the pod's node selector or affinity",
        "do not match the pod's node selector or affinity",
    ),
    Obstacle.VOLUMES: (
        "is ruled out by the pod's volumes",
        "are ruled out by the pod's volumes",
    ),
    Obstacle.FEATURES: (
        "lacks a feature that the pod needs",
        "lack a feature that the pod needs",
    ),
    Obstacle.HOST_PORTS: (
        "has the pod's host ports in use",
        "have the pod's host ports in use",
    ),
    Obstacle.RESOURCES: ("is too full for the pod", "are too full for the pod"),
    Obstacle.SPARE: ("is kept as spare", "are kept as spare"),
    Obstacle.REFUSED: ("has refused such a pod", "have refused such pods"),
    Obstacle.ATTACHMENTS: (
        "cannot attach the pod's volumes",
        "cannot attach the pod's volumes",
    ),
    Obstacle.TOPOLOGY_SPREAD: (
        "is ruled out by topology spread constraints",
        "are ruled out by topology spread constraints",
    ),
    Obstacle.POD_AFFINITY: (
        "is ruled out by affinity or anti-affinity between pods",
        "are ruled out by affinity or anti-affinity between pods",
    ),
}
"""What is said of one node, and of several."""
OUT: Final = (Obstacle.UNSCHEDULABLE, Obstacle.NOT_READY)


def needs(refused: Refused, misfit: Misfit) -> str:
    """Return what the members need and how much of it there is.

    "" where that would not be true: members differ, or rules between pods are in their way.
    """
    short = misfit.shortage
    if short is None or not short.asked or misfit.at_most or not _are_alike(refused, misfit):
        return ""
    first = _first(refused, misfit, short)
    return "; ".join((first, *_ruled_out(misfit, short), *_nearest(misfit, short))) if first else ""


def rooms(offers: Offers) -> Iterator[tuple[str, int]]:
    """Yield the best domains by name, each with the members that have room there."""
    shown = offers.best[:DOMAINS_NAMED]
    called = Counter(domain.path[-1:] for domain, _ in shown)
    for domain, room in shown:
        yield name(domain) if called[domain.path[-1:]] == 1 else "/".join(domain.path), room


def and_more(offers: Offers) -> str:
    """Return how many domains are not named."""
    left = max(0, len(offers.best) - DOMAINS_NAMED) + offers.more
    return f" and {left} more" if left else ""


def name(domain: Domain) -> str:
    """Return the last part of the path of a domain."""
    return domain.path[-1]


def of_the_best(offers: Offers | None, before: str) -> str:
    """Return the name of the best domain after a word; "" where it is the cluster."""
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
        found = (f"{where} for {room or 'none'}" for where, room in rooms(offers))
    else:
        nodes = "a node" if needs == 1 else f"{needs} nodes"
        what = f"{nodes} with {amounts(short.asked, 'free ')}"
        found = (f"{where} has {room or 'none'}" for where, room in rooms(offers))
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
    """Yield what is said of nodes that have room and are ruled out."""
    # Nodes that may come back come first.
    by_hope = sorted(short.ruled_out, key=lambda each: each[0] not in OUT)
    said = []
    for obstacle, number in by_hope[:OBSTACLES_NAMED]:
        one, several = OBSTACLES[obstacle]
        others = "more" if misfit.fits else "other"
        nodes = " node" if number == 1 else " nodes"
        if short.one_a_node and misfit.fits:
            nodes = ""
        said.append(f"{number} {others}{nodes} {one if number == 1 else several}")
    if said:
        yield f"{of_the_best(misfit.offers, 'in')} {', '.join(said)}".strip()


def _nearest(misfit: Misfit, short: Shortage) -> Iterator[str]:
    """Yield what the nearest node lacks, if it has a part of what is asked for."""
    if short.lacking and set(short.lacking) != set(short.asked):
        other = "next" if misfit.fits else "nearest"
        where = of_the_best(misfit.offers, " of")
        yield f"the {other} node{where} is short of {amounts(short.lacking)}"


def _amount(resource: str, number: int, adjective: str) -> str:
    if resource == PODS:
        return f"room for {number} more {'pod' if number == 1 else 'pods'}"
    return f"{quantity(resource, number)} {adjective}{resource}"
