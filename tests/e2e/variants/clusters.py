"""Clusters for which a change is proposed: one for each that there is, as short manifests."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from property.random_cases import dice_of
from support import proposed_changes
from support.proposed_changes import LABEL, MIN_RUNTIME, Body, time_of

VERSION: Final = "py-gang-scheduler.io/v1alpha1"
QUEUE: Final = {"py-gang-scheduler.io/queue": "team-a"}
STARTED_AGO: Final = 600


def random(seed: int) -> Iterable[Body]:
    """Return a random cluster."""
    return proposed_changes.cluster(dice_of(seed), int(time.time()))


def with_minimum_run_time() -> Iterable[Body]:
    """Return a gang that must run for a while yet, on the only node, and one that outranks it."""
    asked = {"annotations": {MIN_RUNTIME: "30m"}}
    runs = {
        "phase": "Running",
        "startTime": time_of(int(time.time()) - STARTED_AGO),
    }
    return [
        {"kind": "Node", "name": "n", "allocatable": {"cpu": 4}},
        {"kind": "PodGroup", "metadata": {"name": "x", **asked}, "minMember": 1},
        {**_pod("x", priority=0), "nodeName": "n", "status": runs},
        {"kind": "PodGroup", "name": "a", "minMember": 1},
        _pod("a", priority=9),
    ]


def with_two_flavors() -> Iterable[Body]:
    """Return a gang that selects the flavor of its queue of which all nodes are taken."""
    pools = ("small", "large")
    quota = {"soft": {"cpu": 8}}
    spec = {"flavors": [{"name": each, "quota": quota} for each in pools]}
    yield {"kind": "Queue", "apiVersion": VERSION, "name": "team-a", "spec": spec}
    for each in pools:
        labels = {"pool": each}
        flavor = {"kind": "ResourceFlavor", "apiVersion": VERSION, "name": each}
        yield {**flavor, "spec": {"nodeLabels": labels}}
        room = {"allocatable": {"cpu": 4}, "metadata": {"labels": labels}}
        yield {"kind": "Node", "name": each, **room}
    for name in ("x", "a"):
        yield {"kind": "PodGroup", "metadata": {"name": name, "labels": QUEUE}, "minMember": 1}
    yield {**_pod("x"), "nodeName": "small"}
    yield {**_pod("a"), "spec": {"nodeSelector": {"pool": "small"}}}


def _pod(gang: str, **more: int) -> Body:
    member = {"kind": "Pod", "name": f"{gang}-0", "metadata": {"labels": {LABEL: gang}}}
    return {**member, "requests": {"cpu": 4}, **more}


BY_CHANGE: Final[Mapping[str, Callable[[], Iterable[Body]]]] = {
    "FewerMembers": lambda: random(59),
    "SofterLayer": lambda: random(59),
    "HigherPriority": lambda: random(32),
    "NextEnd": lambda: random(231),
    "LessAsked": lambda: random(1),
    "TaintsTolerated": lambda: random(59),
    "MoreQuota": lambda: random(26),
    "SelectorRemoved": lambda: random(62),
    "RunTimesOver": with_minimum_run_time,
    "OtherFlavor": with_two_flavors,
}
