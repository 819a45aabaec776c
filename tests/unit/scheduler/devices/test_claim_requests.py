"""What claims ask for: classes are found, and equal requests are told once."""

import pytest

from gang_scheduler.model.devices import Constraint, DeviceClass, Mode, Unsupported
from gang_scheduler.scheduler.devices.claim_requests import (
    ClaimError,
    refuse_what_does_not_compile,
    requests_of,
)
from support.device_builders import CLASSES, asked, asked_for, claim, first_available, request


def test_members_that_ask_for_the_same_share_a_wish() -> None:
    found = asked_for(
        *[claim(request(count=n)) for n in (1, 2, 1)], claim(request(selectors=("1 == 1",)))
    )

    device_filters = [each.choices[0].device_filter for each in found.requests]
    assert [0, 0, 0, 1] == device_filters
    assert len(found.device_filters) == 2


def test_a_choice_knows_its_claim_its_place_and_its_constraints() -> None:
    constraints = [Constraint(("gpu/b",), "x/y"), Constraint((), "x/z")]
    pick = first_available(asked("a"), asked("b"))

    found = asked_for(claim(request()), claim(pick, constraints=constraints))

    first, second = found.requests[1].choices
    assert (1, 1, "gpu/a", (1,)) == (first.claim, first.request, first.name, first.constrained)
    assert (1, "gpu/b", (0, 1)) == (second.place, second.name, second.constrained)
    assert ("x/y", "x/z") == found.attributes()
    assert not found.has_admin


def test_admin_access_is_noted() -> None:
    assert asked_for(claim(request(admin_access=True))).has_admin


def test_the_least_that_a_claim_can_ask_for_is_bounded() -> None:
    pick = first_available(asked("many", count=33), asked("few"))
    everything = request("all", mode=Mode.ALL)

    asked_for(claim(pick, everything))
    with pytest.raises(ClaimError, match="at least 33"):
        asked_for(claim(request(count=32), everything))


def test_a_class_that_is_not_understood_refuses_its_claims() -> None:
    problem = Unsupported("spec.selectors[0].cel")
    classes = {"gpu": DeviceClass("gpu", problems=(problem,))}

    with pytest.raises(
        ClaimError, match=r"DeviceClass gpu: spec.selectors\[0\].cel is not"
    ) as told:
        requests_of([claim(request())], classes)
    assert ((problem,), 0, "gpu") == (told.value.problems, told.value.claim, told.value.request)


def test_selectors_of_classes_must_compile_too() -> None:
    wanted = requests_of([claim(request())], {"gpu": DeviceClass("gpu", ("nonsense(",))})

    with pytest.raises(ClaimError, match="DeviceClass gpu, selector 0: does not compile"):
        refuse_what_does_not_compile(wanted)
    refuse_what_does_not_compile(requests_of([claim(request())], CLASSES))
