"""The devices, shares, counters and values of constraints in use at one point of a search."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.device_quantities import Quantity
from gang_scheduler.model.devices import (
    Attribute,
    AttributeKind,
    Constraint,
    Mode,
    Unsupported,
)
from gang_scheduler.scheduler.devices.candidates import Candidates
from gang_scheduler.scheduler.devices.capacity import is_enough
from gang_scheduler.scheduler.devices.claim_requests import Choice, ClaimError, ClaimRequests
from gang_scheduler.scheduler.devices.partitioned_cards import NO_CARD, charge
from gang_scheduler.scheduler.devices.pools import Pool

LIST_ATTRIBUTES: Final = "DRAListTypeAttributes"
_NOTHING: Final[Mapping[str, int]] = {}

_Counter = tuple[str, str]
"""A counter set and a counter of it."""


class AbandonedError(Exception):
    """A constraint rejects one of all devices: as in Kubernetes, nothing else is tried."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice.name)
        self.choice = choice


class DevicesInUse:
    """Takes devices one by one, if constraints and counters allow it, and gives them back."""

    def __init__(self, asked: ClaimRequests, candidates: Candidates) -> None:
        self._asked = asked
        self._candidates = candidates
        self._attribute_at = {name: i for i, name in enumerate(asked.attributes())}
        self._users: list[list[int]] = [[] for _ in candidates.devices]
        self.kinds_used = [0] * candidates.kind_count
        self._results = [0] * len(asked.constraints)
        self._values: list[list[list[Attribute]]] = [
            [[] for _ in of_claim] for of_claim in asked.constraints
        ]
        self._shares: dict[int, list[Mapping[str, Quantity]]] = {}
        self._counters = {pool: dict(left) for pool, left in candidates.counters.items()}
        self._in_use = [False] * len(candidates)

    def result_count(self, claim: int) -> int:
        """Return how many devices a claim has."""
        return self._results[claim]

    def is_in_use(self, choice: Choice, place: int) -> bool:
        """Return whether a device cannot be chosen since it is in use."""
        users = self._users[place]
        if choice.asked.admin_access:
            return choice.claim in users
        return bool(users) or self._candidates.is_taken[place]

    def take(self, choice: Choice, place: int) -> bool:
        """Take a device for a choice if it suits and nothing forbids it."""
        match = self._candidates.match(choice, place)
        device = self._candidates.devices[place].device
        if match.taints or self.is_in_use(choice, place) or not match.is_enough:
            return False
        is_charged = bool(device.consumes) and not self._is_shared(place)
        if is_charged and not self._has_counters(place):
            return False
        if not self._satisfies(choice, place):
            return False
        if device.allow_multiple:
            taken = match.consumed or {}
            if not is_enough(device, taken, self._capacity_in_use(place)):
                return False
        if is_charged:
            self._charge(place, -1)
        for each in choice.constrained:
            value = self._value(choice, each, place)
            assert value is not None  # noqa: S101 - the constraint is satisfied
            self._values[choice.claim][each].append(value)
        if device.allow_multiple:
            self._shares.setdefault(place, []).append(match.consumed or {})
        else:
            self._users[place].append(choice.claim)
        self._results[choice.claim] += 1
        self.kinds_used[self._candidates.kinds[place]] += 1
        self._in_use[place] = True
        return True

    def give_back(self, choice: Choice, place: int) -> None:
        """Give back the device that was taken last."""
        device = self._candidates.devices[place].device
        self.kinds_used[self._candidates.kinds[place]] -= 1
        self._results[choice.claim] -= 1
        if device.allow_multiple:
            self._shares[place].pop()
        else:
            self._users[place].remove(choice.claim)
        self._in_use[place] = bool(self._users[place] or self._shares.get(place))
        for each in choice.constrained:
            self._values[choice.claim][each].pop()
        # The first share of a device is the one that was charged for its counters.
        if device.consumes and not self._is_shared(place):
            self._charge(place, 1)

    def state(self, request: int) -> object:
        """Return a key of everything on which the requests from this one on depend."""
        claim = self._asked.requests[request].claim
        return (
            request,
            self._candidates.cards.state(self.kinds_used),
            self._results[claim],
            tuple(frozenset(values) for values in self._values[claim]),
            self._state_of_users() if self._asked.has_admin else None,
            self._state_of_shares(),
        )

    def _state_of_users(self) -> object:
        return tuple(frozenset(users) for users in self._users)

    def _state_of_shares(self) -> object:
        return frozenset(
            (place, frozenset(self._capacity_in_use(place).items()))
            for place, shares in self._shares.items()
            if shares
        )

    def interchange_key(self, place: int) -> object:
        """Return a key that is the same for all devices that could take its place here."""
        cards = self._candidates.cards
        if cards.of[place] == NO_CARD:
            return self._candidates.kinds[place]
        return cards.interchange_key(place, self._in_use)

    # Shares and counters.

    def _is_shared(self, place: int) -> bool:
        """Return whether a device has shares, for which its counters are charged already."""
        offered = self._candidates.devices[place]
        return offered.device.allow_multiple and (
            bool(self._shares.get(place)) or self._candidates.taken.shares(offered.id) > 0
        )

    def _capacity_in_use(self, place: int) -> Mapping[str, int]:
        taken = self._candidates.taken.capacity(self._candidates.devices[place].id)
        shares = self._shares.get(place)
        if not shares:
            return taken
        amounts = dict(taken)
        for share in shares:
            for name, amount in share.items():
                amounts[name] = amounts.get(name, 0) + amount.nanos
        return amounts

    def _has_counters(self, place: int) -> bool:
        counters = self._of_pool(self._candidates.pools[place])
        if any(left < 0 for left in counters.values()):
            # More is in use than exists: this pool offers nothing more.
            return False
        needed: dict[_Counter, int] = {}
        for use in self._candidates.devices[place].device.consumes:
            for name, amount in use.counters.items():
                counter = (use.counter_set, name)
                needed[counter] = needed.get(counter, 0) + amount.nanos
        return all(counters[counter] >= amount for counter, amount in needed.items())

    def _charge(self, place: int, sign: int) -> None:
        counters = self._of_pool(self._candidates.pools[place])
        charge(counters, self._candidates.devices[place].device, sign)

    def _of_pool(self, pool: Pool) -> dict[_Counter, int]:
        """Return the amounts left of the counters of a pool."""
        return self._counters[pool.id]

    # Constraints.

    def _satisfies(self, choice: Choice, place: int) -> bool:
        for each in choice.constrained:
            if not self._holds(choice, each, place):
                if choice.mode is Mode.ALL:
                    raise AbandonedError(choice)
                return False
        return True

    def _holds(self, choice: Choice, each: int, place: int) -> bool:
        value = self._value(choice, each, place)
        if value is None:
            return False
        present = self._values[choice.claim][each]
        if self._constraint(choice, each).match_attribute:
            return not present or present[0] == value
        return value not in present

    def _value(self, choice: Choice, each: int, place: int) -> Attribute | None:
        name = self._constraint(choice, each).attribute
        value = self._candidates.values[place][self._attribute_at[name]]
        if value is not None and value.kind is AttributeKind.LIST:
            problem = Unsupported(f"spec.devices.constraints[{each}]", LIST_ATTRIBUTES)
            why = f"constraint {each}: the attribute {name} has a list of values"
            raise ClaimError(choice.claim, choice.name, why, (problem,))
        return value

    def _constraint(self, choice: Choice, each: int) -> Constraint:
        return self._asked.constraints[choice.claim][each]
