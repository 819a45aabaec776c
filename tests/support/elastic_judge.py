"""An independent judge of elastic gangs: it sees how many workers had a node, and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Rules:
    """What a gang declares; cooldowns in seconds. `slack` is how inexact times are."""

    least: int
    most: int
    up_cooldown: float = 0
    down_cooldown: float = 0
    up_step: int = 1
    down_step: int = 1
    slack: float = 0


@dataclass(frozen=True)
class Change:
    """From one size to another; `at` is when it began, in seconds."""

    at: float
    before: int
    after: int

    @property
    def is_up(self) -> bool:
        """Whether the gang has grown."""
        return self.after > self.before


def changes_of(sizes: Iterable[tuple[float, int]], burst: float = 0) -> list[Change]:
    """Return the changes in a record of sizes; those within a burst of seconds are one."""
    found: list[Change] = []
    last, size = float("-inf"), 0
    for at, now in sizes:
        if now == size:
            continue
        if found and at - last < burst:
            found[-1] = Change(found[-1].at, found[-1].before, now)
        else:
            found.append(Change(at, size, now))
        last, size = at, now
    return [each for each in found if each.before != each.after]


def faults(changes: Sequence[Change], rules: Rules) -> list[str]:
    """Return what a gang may not do, in words."""
    found = [fault for each in changes for fault in _sizes(each, rules)]
    for before, each in pairwise(changes):
        found += list(_times(before, each, rules))
    return [*found, *_turns(changes, rules)]


def _sizes(change: Change, rules: Rules) -> Iterator[str]:
    moved = abs(change.after - change.before)
    if change.after and not rules.least <= change.after <= rules.most:
        yield f"{change} is not between {rules.least} and {rules.most}"
    # All of them at once is the end of a gang, or its start.
    if change.before and change.is_up and change.after != rules.most and moved % rules.up_step:
        yield f"{change} is no whole step up"
    if change.after and not change.is_up and moved % rules.down_step:
        yield f"{change} is no whole step down"


def _times(before: Change, change: Change, rules: Rules) -> Iterator[str]:
    passed = change.at - before.at + rules.slack
    if change.is_up and change.before and passed < rules.up_cooldown:
        yield f"{change} comes within the cooldown after {before}"
    # A gang without surplus may be evicted whole at any time.
    if not change.is_up and change.before > rules.least and passed < rules.down_cooldown:
        yield f"{change} goes within the cooldown after {before}"


def _turns(changes: Sequence[Change], rules: Rules) -> Iterator[str]:
    """Yield where a gang has gone down and up again, or up and down, within both cooldowns.

    A gang that has gone as a whole starts again.
    """
    lives: list[list[Change]] = [[]]
    for each in changes:
        if not each.before:
            lives.append([])
        lives[-1].append(each)
    for life in lives:
        turns = [
            each for before, each in pairwise(life) if each.is_up != before.is_up and each.after
        ]
        both = rules.up_cooldown + rules.down_cooldown
        for first, third in zip(turns, turns[2:], strict=False):
            if third.at - first.at + 2 * rules.slack < both:
                yield f"{first} and {third} are turns within both cooldowns"
