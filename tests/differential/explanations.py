"""Differences that are decisions of ours, each with its reason. `docs/kube-scheduler.md` has them.

A predicate looks at one difference, and must not hold for any other. Whatever none of them holds
for is a fault, of ours or of this list.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from differential import orders
from differential.oracle import Verdict
from differential.ours import Opinion
from differential.worlds import Manifest

PREFILTERED: Final = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[.*\]")
TAINT: Final = re.compile(r"node\(s\) had untolerated taint \{.*\}")
FAILED: Final = re.compile(
    r'running "NodeVolumeLimits" filter plugin: PVC \S+ was not created for pod .*not owner\)'
)
LACKING: Final = (
    "node(s) did not have enough free storage",
    "node(s) didn't find available persistent volumes to bind",
)
THEIR_TAINT: Final = "node(s) had untolerated taint(s)"


@dataclass(frozen=True)
class Difference:
    """What both say of a pod, and on which node they differ; without one it is the words."""

    seed: int
    pod: Manifest
    features: tuple[str, ...]
    node: str
    ours: Opinion
    theirs: Verdict


def node_is_not_ready(each: Difference) -> bool:
    """kube-scheduler sees the taint only, and binds to a node in the seconds before it is tainted.

    We refuse a node that is not ready, unless the pod tolerates the taint.
    """
    ours, theirs = each.ours, each.theirs
    return each.node in (ours.like_theirs & theirs.passed) - ours.passed


def taint_is_named(each: Difference) -> bool:
    """kube-scheduler does not say any more which taint is not tolerated; we do."""
    return not each.node and in_their_words(each.ours.reasons) == each.theirs.reasons


def whole_pod_is_refused(each: Difference) -> bool:
    """kube-scheduler says what is wrong with a pod before it looks at any node.

    We say the same of each node which none of the filters before refuses.
    """
    ours, words = in_their_words(each.ours.reasons), each.theirs.wholly
    before = all(orders.is_before_volumes(mine) for mine in ours)
    return not each.node and bool(words) and not each.ours.like_theirs and (words in ours or before)


def nodes_are_named(each: Difference) -> bool:
    """Of nodes that matchFields excludes, kube-scheduler says so before all else.

    We say what comes first in the order of the filters.
    """
    theirs = each.theirs.reasons
    others = Counter({words: n for words, n in theirs.items() if not PREFILTERED.fullmatch(words)})
    return (
        not each.node and len(others) < len(theirs) and others <= in_their_words(each.ours.reasons)
    )


def other_filter_comes_first(each: Difference) -> bool:
    """kube-scheduler looks at volumes and declared features after ports and resources.

    We look first at all that is fixed of a node: it is computed once a class. And kube-scheduler
    may say two things of the volumes of one node, where the first of them is enough for us.
    """
    ours, theirs = in_their_words(each.ours.reasons), each.theirs.reasons
    return not each.node and orders.differ_by_order(ours, theirs)


def other_claim_comes_first(each: Difference) -> bool:
    """Of several claims, one may lack space on a node and another a volume: we name the first."""
    ours, theirs = in_their_words(each.ours.reasons), each.theirs.reasons
    lacking = [sum(reasons[words] for words in LACKING) for reasons in (ours, theirs)]
    others = [Counter({w: n for w, n in r.items() if w not in LACKING}) for r in (ours, theirs)]
    return not each.node and lacking[0] == lacking[1] and others[0] == others[1]


def claims_find_volumes(each: Difference) -> bool:
    """kube-scheduler lets claims of one size choose in the order of the pod's volumes.

    One that takes any volume may take the only one that another could have. Ours choose last.
    """
    claims = [v for v in each.pod["spec"].get("volumes", []) if "persistentVolumeClaim" in v]
    none_left = bool(each.theirs.reasons[LACKING[1]])
    return each.node in each.ours.passed - each.theirs.passed and none_left and len(claims) > 1


def their_filter_fails(each: Difference) -> bool:
    """kube-scheduler places no pod with volumes while a node has a pod with a claim of another.

    Its filter ends with an error for all. We do not count such a volume, and go on.
    """
    words = each.theirs.wholly
    return FAILED.fullmatch(words) is not None and f"/{each.pod['metadata']['name']} " not in words


EXPLANATIONS: Final[Mapping[str, Callable[[Difference], bool]]] = {
    each.__name__.replace("_", " "): each
    for each in (
        node_is_not_ready,
        taint_is_named,
        whole_pod_is_refused,
        nodes_are_named,
        claims_find_volumes,
        their_filter_fails,
        other_filter_comes_first,
        other_claim_comes_first,
    )
}


def explain(difference: Difference) -> str | None:
    """Return the name of the explanation that holds; None for a fault."""
    return next((name for name, holds in EXPLANATIONS.items() if holds(difference)), None)


def in_their_words(reasons: Counter[str]) -> Counter[str]:
    """Return reasons without the names of taints."""
    said: Counter[str] = Counter()
    for words, number in reasons.items():
        said[THEIR_TAINT if TAINT.fullmatch(words) else words] += number
    return said
