"""What was compared, and what was found."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from differential import explanations
from differential.explanations import Difference


@dataclass
class Line:
    """How many verdicts on pods that use a feature, how many of them to let the pod pass."""

    pods: int = 0
    verdicts: int = 0
    passed: int = 0


@dataclass
class Report:
    """Figures of one run; `faults` are differences without an explanation."""

    cases: int = 0
    pods: int = 0
    held: int = 0
    invalid: int = 0
    verdicts: int = 0
    seconds: float = 0.0
    features: dict[str, Line] = field(default_factory=lambda: defaultdict(Line))
    explained: Counter[str] = field(default_factory=Counter)
    again: int = 0
    faults: list[Difference] = field(default_factory=list)

    def note(self, features: tuple[str, ...], nodes: int, passed: int) -> None:
        """Count the verdicts on one pod."""
        self.pods += 1
        self.verdicts += nodes
        for name in features or ("none",):
            line = self.features[name]
            line.pods += 1
            line.verdicts += nodes
            line.passed += passed

    def note_difference(self, difference: Difference) -> None:
        """Count a difference that is true."""
        explanation = explanations.explain(difference)
        if explanation is None:
            self.faults.append(difference)
        else:
            self.explained[explanation] += 1

    def lines(self) -> Iterator[str]:
        """Yield it as a text."""
        yield f"{'feature':24} {'pods':>8} {'verdicts':>10} {'passed':>8}"
        for name, line in sorted(self.features.items()):
            share = f"{100 * line.passed / line.verdicts:.0f} %"
            yield f"{name:24} {line.pods:8,} {line.verdicts:10,} {share:>8}"
        yield ""
        rate = self.verdicts / self.seconds if self.seconds else 0
        yield (
            f"{self.cases:,} cases, {self.pods:,} pods ({self.held:,} more held by gates, "
            f"{self.invalid:,} refused by the API server), "
            f"{self.verdicts:,} verdicts on a pod and a node, {rate:,.0f} a second"
        )
        yield f"{self.again:,} pods were asked about again, because the first answers differed"
        for name, number in self.explained.most_common():
            yield f"explained: {number:,} x {name}"
        yield f"not explained: {len(self.faults):,}"
