"""The order of filters: the first one to reject a node gives the reason, here and there."""

import re
from collections import Counter
from typing import Final

WORDS: Final = {
    "cordon": r"node\(s\) were unschedulable",
    "taints": r"node\(s\) had untolerated taint\(s\)",
    "selector": r"node\(s\) didn't match Pod's node affinity/selector",
    "ports": r"node\(s\) didn't have free ports for the requested pod ports",
    "resources": r"Insufficient .*|Too many pods",
    "restrictions": r"node\(s\) had no available disk|node\(s\) unavailable due to .*OncePod .*",
    "limits": r"node\(s\) exceed max volume count|\S+ CSI driver is not installed on the node",
    "bound": r"node\(s\) didn't match PersistentVolume's node affinity",
    "binding": r"node\(s\) didn't find available persistent volumes to bind"
    r"|node\(s\) did not have enough free storage",
    "zone": r"node\(s\) had no available volume zone",
    "spread": r"node\(s\) didn't match pod topology spread constraints.*",
    "pod affinity": r"node\(s\) didn't (match pod|satisfy existing pods) (anti-)?affinity rules",
    "features": r"node\(s\) didn't match Pod's required features",
}
"""What each filter says."""
THEIRS: Final = tuple(WORDS)
OURS: Final = (
    *("cordon", "taints", "selector", "bound", "zone", "features"),
    *("ports", "resources", "limits", "restrictions", "binding", "spread", "pod affinity"),
)


def differ_by_order(ours: Counter[str], theirs: Counter[str]) -> bool:
    """Return whether both may mean the same filters, and each say what comes first in its order.

    Of the volumes of one node kube-scheduler may say two things. One is enough for us.
    """
    only_ours, only_theirs = ours - theirs, theirs - ours
    twice = "bound" in {_filter(words) for words in ours}
    return bool(only_theirs) and (
        all(any(_overtakes(mine, other) for other in only_theirs) for mine in only_ours)
        and all(
            any(_overtakes(mine, other) for mine in only_ours)
            or (twice and _filter(other) == "binding")
            for other in only_theirs
        )
    )


def is_before_volumes(words: str) -> bool:
    """Return whether a filter of ours says this which comes before those of volumes."""
    found = _filter(words)
    return found is not None and OURS.index(found) < OURS.index("bound")


def _overtakes(mine: str, other: str) -> bool:
    """Return whether the first filter is before the other one in our order, and not in theirs."""
    first, second = _filter(mine), _filter(other)
    if first is None or second is None:
        return False
    here = OURS.index(first) < OURS.index(second)
    # Bound volumes are looked at where others are found.
    places = [THEIRS.index("binding" if each == "bound" else each) for each in (first, second)]
    return here and places[0] >= places[1]


def _filter(words: str) -> str | None:
    return next((name for name, said in WORDS.items() if re.fullmatch(said, words)), None)
