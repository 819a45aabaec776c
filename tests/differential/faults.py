"""Faults in lines for people: the pod, where both differ, and what each says."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from differential.explanations import Difference


def told(faults: Iterable[Difference]) -> Iterator[str]:
    """Yield a few lines a pod."""
    for name, several in itertools.groupby(faults, key=lambda each: each.pod["metadata"]["name"]):
        found = list(several)
        first = found[0]
        nodes = " ".join(each.node for each in found if each.node)
        yield f"seed {first.seed}: {name} ({', '.join(first.features)}): {nodes or 'words'}"
        yield f"  asks   {json.dumps(first.pod['spec'])}"
        yield f"  labels {json.dumps(first.pod['metadata']['labels'])}"
        refused = " ".join(first.ours.unsupported)
        yield f"  ours   {_names(first.ours.passed)}: {_counts(first.ours.reasons)} {refused}"
        theirs = first.theirs.wholly or _counts(first.theirs.reasons)
        yield f"  theirs {_names(first.theirs.passed)}: {theirs}"


def _names(nodes: Iterable[str]) -> str:
    return " ".join(sorted(nodes)) or "no node"


def _counts(reasons: Counter[str]) -> str:
    return ", ".join(f"{number} {words}" for words, number in sorted(reasons.items())) or "-"
