"""Limits the cost of pod affinity terms by namespace: terms of its oldest pods count first."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.rules import GangRules
from gang_scheduler.model.selectors import PodAffinity, PodSelector
from gang_scheduler.state.selector_index import SelectorIndex

# Pods take their turns by age, and the first one whose selectors are too many for its namespace
# ends the line. So the same pods are left out whatever the order in which they were read, as after
# a restart.

MOST_COMPARED: Final = GangRules().max_term_comparisons
MOST_GIVEN_BACK: Final = 50_000
"""This much of the cost of removed selectors is given back between two cycles.

Otherwise selectors that are removed and added again would cost as much in each cycle.
"""
AT_ONCE: Final = 1_000
"""This many comparisons are made at once when a pod comes; the others wait for later steps."""


class Age(NamedTuple):
    """The place of a pod among those of its namespace."""

    created_at: float
    name: str
    uid: str


@dataclass(slots=True, eq=False)
class _Turn:
    """The pod whose selectors are being added: selectors to add, added ones, and former ones."""

    age: Age
    before: int
    missing: list[PodSelector]
    added: dict[PodSelector, None] = field(default_factory=dict)


class _Refused(NamedTuple):
    """The pod that exceeded the budget, its least cost, and how many pods had gone by then."""

    age: Age
    need: int
    gone: int


@dataclass(slots=True, eq=False)
class _Budget:
    """The pods of a namespace that have terms: `counted` and `waiting`, each from the oldest on.

    `held` counts the pods that carry each selector that counts. `removed` is the cost of removed
    selectors, which still counts. `is_over`: pods that wait are left out.
    """

    carried: dict[Age, PodAffinity] = field(default_factory=dict)
    counted: list[Age] = field(default_factory=list)
    waiting: list[Age] = field(default_factory=list)
    held: Counter[PodSelector] = field(default_factory=Counter)
    removed: int = 0
    turn: _Turn | None = None
    refused: _Refused | None = None
    is_over: bool = False
    has_tried: bool = False

    def lacks(self, age: Age) -> list[PodSelector]:
        """Return the selectors of a pod that no counted pod carries."""
        return [each for each in self.carried[age].selectors if each not in self.held]


class TermBudgets:
    """The pods that carry selectors, by namespace. Selectors that count are in `index`."""

    def __init__(self, index: SelectorIndex, most: int) -> None:
        self._index = index
        self._most = most
        self._budgets: dict[str, _Budget] = {}
        self._due: dict[str, None] = {}
        self._changed: set[str] = set()
        self.over: set[str] = set()
        """The namespaces that have too many selectors."""

    def came(self, namespace: str, age: Age, pod_affinity: PodAffinity) -> None:
        """Add a pod; its selectors count at once if there is room and they select few pods."""
        budget = self._budgets.setdefault(namespace, _Budget())
        budget.carried[age] = pod_affinity
        insort(budget.waiting, age)
        self._due[namespace] = None
        if budget.is_over or len(budget.waiting) > 1:
            return
        left = AT_ONCE
        while left > 0 and (done := self.advance(left)):
            left -= done

    def left(self, namespace: str, age: Age) -> None:
        """Remove a pod."""
        budget = self._budgets[namespace]
        if budget.turn is not None and budget.turn.age == age:
            self._undo(namespace, budget)
        place = bisect_left(budget.counted, age)
        if place < len(budget.counted) and budget.counted[place] == age:
            del budget.counted[place]
            self._let_go(namespace, budget, age)
        else:
            del budget.waiting[bisect_left(budget.waiting, age)]
        del budget.carried[age]
        self._due[namespace] = None
        self._settle(namespace, budget)

    def leaves_out(self, namespace: str, selectors: Collection[PodSelector]) -> bool:
        """Return whether any of these selectors of a namespace does not count."""
        if namespace not in self.over:
            return False
        held = self._budgets[namespace].held
        return not all(each in held for each in selectors)

    def begin_cycle(self) -> None:
        """Give back some of the removed cost, and let pods that are left out try again."""
        for namespace, budget in [*self._budgets.items()]:
            budget.removed -= min(budget.removed, MOST_GIVEN_BACK)
            budget.has_tried = False
            if budget.carried:
                self._due[namespace] = None
            elif not budget.removed:
                del self._budgets[namespace]

    def advance(self, most: int | None = None) -> int:
        """Do a part of the work for new selectors; return how much was done."""
        most = AT_ONCE if most is None else most
        if done := self._index.work(most):
            return done
        while self._due:
            namespace = next(iter(self._due))
            if done := self._step(namespace, most):
                return done
            del self._due[namespace]
        return 0

    def take_changed(self) -> Collection[str]:
        """Return the namespaces whose left-out pods have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def _step(self, namespace: str, most: int) -> int:
        """Let the next pod of a namespace count, or a part of it; return how much was done."""
        budget = self._budgets.get(namespace)
        if budget is None:
            return 0
        turn = budget.turn
        if turn is None:
            if self._index.compared(namespace) > self._most and budget.counted:
                self._drop_youngest(namespace, budget)
                return 1
            before = self._index.compared(namespace)
            if not budget.waiting or budget.has_tried or self._is_refused(before, budget):
                return 0
            age = budget.waiting[0]
            turn = budget.turn = _Turn(age, before, budget.lacks(age))
        done = 1
        while turn.missing and done < most and self._has_room(namespace, budget):
            selector = turn.missing.pop()
            turn.added[selector] = None
            done += self._index.add(selector, namespace)
        if not self._has_room(namespace, budget) and (turn.added or turn.missing):
            self._refuse(namespace, budget, turn)
        elif not turn.missing and not self._index.has_work:
            # Meanwhile a pod with the same selectors may have gone.
            lacking = budget.lacks(turn.age)
            turn.missing = [each for each in lacking if each not in turn.added]
            if not turn.missing:
                self._let_count(namespace, budget, turn.age)
        return done

    def _has_room(self, namespace: str, budget: _Budget) -> bool:
        return self._index.compared(namespace) + budget.removed <= self._most

    def _is_refused(self, compared: int, budget: _Budget) -> bool:
        """Return whether the next pod would exceed the budget again, as far as that is known.

        Each trial costs as much as it removes again: too many trials would use up the budget.
        """
        refused = budget.refused
        if refused is None or refused.age != budget.waiting[0]:
            return False
        needed = compared + refused.need
        if budget.removed and needed + budget.removed > self._most:
            return True
        return refused.gone == self._index.gone and needed > self._most

    def _let_count(self, namespace: str, budget: _Budget, age: Age) -> None:
        budget.turn = None
        del budget.waiting[bisect_left(budget.waiting, age)]
        insort(budget.counted, age)
        budget.held.update(budget.carried[age].selectors)
        self._settle(namespace, budget)

    def _refuse(self, namespace: str, budget: _Budget, turn: _Turn) -> None:
        """Let a pod that exceeds the budget wait; younger pods make room, and it tries again."""
        need = self._index.compared(namespace) - turn.before
        self._undo(namespace, budget)
        while (
            budget.counted
            and budget.counted[-1] > turn.age
            and self._index.compared(namespace) + need > self._most
        ):
            self._drop_youngest(namespace, budget)
        budget.refused = _Refused(turn.age, need, self._index.gone)
        budget.has_tried = True
        self._go_over(namespace, budget)

    def _undo(self, namespace: str, budget: _Budget) -> None:
        if budget.turn is not None:
            self._remove(namespace, budget, budget.turn.added, at_once=True)
            budget.turn = None

    def _drop_youngest(self, namespace: str, budget: _Budget) -> None:
        age = budget.counted.pop()
        insort(budget.waiting, age)
        self._let_go(namespace, budget, age, at_once=True)
        self._go_over(namespace, budget)
        self._changed.add(namespace)

    def _let_go(self, namespace: str, budget: _Budget, age: Age, *, at_once: bool = False) -> None:
        """Take away the selectors of a pod."""
        selectors = budget.carried[age].selectors
        budget.held.subtract(selectors)
        gone = [each for each in selectors if not budget.held[each]]
        for each in gone:
            del budget.held[each]
        self._remove(namespace, budget, gone, at_once=at_once)

    def _remove(
        self, namespace: str, budget: _Budget, selectors: Iterable[PodSelector], *, at_once: bool
    ) -> None:
        for each in selectors:
            budget.removed += self._index.remove(each, namespace, at_once=at_once)

    def _go_over(self, namespace: str, budget: _Budget) -> None:
        if not budget.is_over:
            budget.is_over = True
            self.over.add(namespace)
            self._changed.add(namespace)

    def _settle(self, namespace: str, budget: _Budget) -> None:
        """Note that the counted pods have changed; where no pod waits, none is left out."""
        if not budget.is_over:
            return
        self._changed.add(namespace)
        if not budget.waiting:
            budget.is_over = False
            self.over.discard(namespace)
