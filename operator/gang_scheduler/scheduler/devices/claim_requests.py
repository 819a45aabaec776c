"""The requests of claims, prepared for a search: with their classes, and equal ones only once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gang_scheduler.model.device_quantities import Quantity
from gang_scheduler.model.devices import (
    MOST_RESULTS,
    Claim,
    Constraint,
    DeviceClass,
    DeviceToleration,
    Invalid,
    Mode,
    Problem,
    Request,
    SubRequest,
    Unsupported,
)
from gang_scheduler.scheduler.devices.selectors import Selector, SelectorError


class ClaimError(Exception):
    """A claim that can run nowhere as it is. `claim` is its place among the claims."""

    def __init__(
        self, claim: int, request: str, why: str, problems: tuple[Problem, ...] = ()
    ) -> None:
        super().__init__(why)
        self.claim = claim
        self.request = request
        self.why = why
        self.problems = problems


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """The conditions of a request on each device. The same devices suit equal filters."""

    device_class: str
    of_class: tuple[str, ...]
    selectors: tuple[str, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: tuple[tuple[str, Quantity], ...]
    admin: bool
    mode: Mode


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An alternative of a request. `device_filter` and `request` are places in `ClaimRequests`."""

    claim: int
    request: int
    place: int
    """The place among the alternatives."""
    is_prioritized: bool
    name: str
    """The name in results."""
    asked: SubRequest
    device_filter: int
    constrained: tuple[int, ...]
    """The constraints of the claim that apply."""

    @property
    def mode(self) -> Mode:
        """Whether a number of devices is requested, or all."""
        return self.asked.mode


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A request of a claim, with its alternatives."""

    claim: int
    choices: tuple[Choice, ...]
    is_prioritized: bool


@dataclass(slots=True)
class ClaimRequests:
    """All requests of all claims, in order."""

    requests: list[ClaimRequest] = field(default_factory=list)
    device_filters: dict[DeviceFilter, int] = field(default_factory=dict)
    constraints: list[tuple[Constraint, ...]] = field(default_factory=list)
    """By claim."""
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    has_admin: bool = False

    def attributes(self) -> tuple[str, ...]:
        """Return all attributes that constraints compare."""
        names = (each.attribute for of_claim in self.constraints for each in of_claim)
        return tuple(dict.fromkeys(names))


_ALL_AT_LEAST: Final = 1


def requests_of(claims: Sequence[Claim], classes: Mapping[str, DeviceClass]) -> ClaimRequests:
    """Return the requests of claims. Raises ClaimError for a claim that can run nowhere."""
    asked = ClaimRequests()
    for place, claim in enumerate(claims):
        if claim.problems:
            raise ClaimError(place, "", _problem_text(claim.problems[0]), claim.problems)
        asked.constraints.append(claim.constraints)
        for request in claim.requests:
            asked.requests.append(_request(asked, place, claim, request, classes))
        least = sum(map(_least, claim.requests))
        if least > MOST_RESULTS:
            why = f"asks for at least {least} devices, and a claim can hold {MOST_RESULTS}"
            raise ClaimError(place, "", why)
    return asked


def _problem_text(problem: Problem) -> str:
    match problem:
        case Unsupported(where, gate):
            return f"{where} is not supported" + (f" (feature gate {gate})" if gate else "")
        case Invalid(where, value, expected):
            return f"{where}: {value!r} {expected}"


def _least(request: Request) -> int:
    """Return the least number of devices that a request needs on any node."""
    return min(
        (
            each.count if each.mode is Mode.EXACT_COUNT else _ALL_AT_LEAST
            for each in request.alternatives
        ),
        default=0,
    )


def _request(
    asked: ClaimRequests,
    place: int,
    claim: Claim,
    request: Request,
    classes: Mapping[str, DeviceClass],
) -> ClaimRequest:
    choices = []
    for i, each in enumerate(request.alternatives):
        device_class = classes.get(each.device_class)
        name = request.name_of(each)
        if device_class is None:
            why = f"device class {each.device_class} does not exist"
            raise ClaimError(place, name, why)
        if device_class.problems:
            why = f"DeviceClass {each.device_class}: {_problem_text(device_class.problems[0])}"
            raise ClaimError(place, name, why, device_class.problems)
        asked.classes[device_class.name] = device_class
        asked.has_admin |= each.admin_access
        device_filter = DeviceFilter(
            device_class=device_class.name,
            of_class=device_class.selectors,
            selectors=each.selectors,
            tolerations=each.tolerations,
            capacity=tuple(sorted(each.capacity.items())),
            admin=each.admin_access,
            mode=each.mode,
        )
        constrained = (
            at
            for at, constraint in enumerate(claim.constraints)
            if constraint.applies_to(request, each)
        )
        choices.append(
            Choice(
                claim=place,
                request=len(asked.requests),
                place=i,
                is_prioritized=request.is_prioritized,
                name=name,
                asked=each,
                device_filter=asked.device_filters.setdefault(
                    device_filter, len(asked.device_filters)
                ),
                constrained=tuple(constrained),
            )
        )
    return ClaimRequest(place, tuple(choices), request.is_prioritized)


def refuse_what_does_not_compile(asked: ClaimRequests) -> None:
    """Raise ClaimError if a selector does not compile. Checked if no other fault was found."""
    for request in asked.requests:
        for choice in request.choices:
            of_class = asked.classes[choice.asked.device_class].selectors
            for i, text in enumerate(of_class):
                _compile(choice, f"DeviceClass {choice.asked.device_class}, selector {i}", text)
            for i, text in enumerate(choice.asked.selectors):
                _compile(choice, f"selector {i}", text)


def _compile(choice: Choice, where: str, text: str) -> None:
    try:
        Selector.compile(text)
    except SelectorError as error:
        raise ClaimError(choice.claim, choice.name, f"{where}: {error}") from None
