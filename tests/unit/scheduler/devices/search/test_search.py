"""The devices that claims are given on a node, in the order in which Kubernetes tries them."""

from typing import Any

import pytest

from gang_scheduler.model.devices import (
    Attribute,
    AttributeKind,
    Claim,
    Constraint,
    Device,
    DeviceTaint,
    DeviceToleration,
    Invalid,
    Mode,
    Unsupported,
)
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.outcomes import (
    Budget,
    Cut,
    Found,
    Lack,
    NoFit,
    Outcome,
    Refused,
)
from gang_scheduler.scheduler.devices.search import solutions, why_not
from support.device_builders import (
    CLASSES,
    DRIVER,
    NODE,
    allocated,
    amounts,
    asked,
    attributes,
    capacities,
    chosen,
    claim,
    counter_set,
    devices,
    first_available,
    pools_of,
    request,
    search,
    slice_of,
    taken_by,
    uses,
)

LARGE = "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('64Gi'))"
LARGE_AND_SMALL = [
    Device("a-large", capacity=capacities(memory="80Gi")),
    Device("b-small", capacity=capacities(memory="40Gi")),
]
NUMA = f"{DRIVER}/numa"


def kind_is(kind: str) -> tuple[str, ...]:
    return (f"device.attributes['{DRIVER}'].kind == '{kind}'",)


def card() -> list[Any]:
    """Return a card that can be used whole or as two halves."""
    parts = [("whole", "whole", "80Gi"), ("half-0", "half", "40Gi"), ("half-1", "half", "40Gi")]
    given = [
        Device(name, attributes(kind=kind), consumes=uses("card", memory=memory))
        for name, kind, memory in parts
    ]
    return [
        slice_of([], name="s0", slice_count=2, counters=(counter_set("card", memory="80Gi"),)),
        slice_of(given, name="s1", slice_count=2),
    ]


BEST = claim(
    first_available(
        asked("whole", selectors=kind_is("whole")), asked("half", selectors=kind_is("half"))
    )
)


def lack(outcome: Outcome) -> Lack:
    assert isinstance(outcome, NoFit), outcome
    return outcome.lack


def test_the_first_devices_that_match_are_taken_claim_by_claim() -> None:
    assert [["gpu=gpu-0"], ["gpu=gpu-1", "gpu=gpu-2"]] == chosen(
        search(devices(4), claim(request()), claim(request(count=2)))
    )


def test_what_is_taken_is_left_alone() -> None:
    taken = taken_by(allocated("gpu-0"))

    assert [["gpu=gpu-1"]] == chosen(search(devices(2), claim(request()), taken=taken))


def test_a_claim_without_requests_needs_nothing() -> None:
    assert [[]] == chosen(search(devices(1), claim()))


def test_a_request_that_can_take_either_leaves_what_another_must_have() -> None:
    within_a_claim = claim(request("any"), request("large", selectors=(LARGE,)))
    assert [["any=b-small", "large=a-large"]] == chosen(search(LARGE_AND_SMALL, within_a_claim))

    between = (claim(request()), claim(request(selectors=(LARGE,))))
    assert [["gpu=b-small"], ["gpu=a-large"]] == chosen(search(LARGE_AND_SMALL, *between))


def test_members_leave_the_whole_card_for_two_halves() -> None:
    assert [["gpu/whole=whole"]] == chosen(search(card(), BEST))
    assert [["gpu/half=half-0"], ["gpu/half=half-1"]] == chosen(search(card(), BEST, BEST))
    assert Lack.TOGETHER is lack(search(card(), BEST, BEST, BEST))


def test_a_taken_part_leaves_the_other() -> None:
    taken = taken_by(allocated("half-0"))

    assert [["gpu/half=half-1"]] == chosen(search(card(), BEST, taken=taken))


def test_a_counter_that_is_negative_gives_nothing_more() -> None:
    taken = taken_by(allocated("half-0", "whole"))

    assert isinstance(search(card(), BEST, taken=taken), NoFit)


def only_halves() -> list[Any]:
    whole, *halves = card()[1].devices
    assert "whole" == whole.name
    return [slice_of(halves, name="s1", slice_count=2)]


def test_all_devices_are_taken_or_none() -> None:
    everything = claim(request(mode=Mode.ALL))

    assert [["gpu=gpu-0", "gpu=gpu-1"]] == chosen(search(devices(2), everything))
    assert isinstance(search(devices(2), everything, taken=taken_by(allocated("gpu-1"))), NoFit)
    assert Lack.DEVICES is lack(search([slice_of([])], everything))


def test_all_devices_of_an_incomplete_or_an_invalid_pool_cannot_be_allocated() -> None:
    everything = claim(request(mode=Mode.ALL))
    good = slice_of(devices(1))
    incomplete = slice_of(devices(1), pool="p", slice_count=2)
    invalid = slice_of([Device("a"), Device("a")], pool="p")

    assert Lack.INCOMPLETE_POOL is lack(search([good, incomplete], everything))
    outcome = search([good, invalid], everything)
    assert isinstance(outcome, NoFit)
    assert (Lack.INVALID_POOL, f"{DRIVER}/p") == (outcome.lack, outcome.pool)
    assert [["gpu=gpu-0"]] == chosen(search([good, incomplete, invalid], claim(request())))


def test_a_claim_holds_32_devices() -> None:
    assert isinstance(search(devices(40), claim(request(count=32))), Found)
    outcome = search(devices(40), claim(request(count=33)))
    assert isinstance(outcome, Refused)
    assert "asks for at least 33 devices, and a claim can hold 32" == outcome.why
    assert Lack.TOO_MANY is lack(search(devices(40), claim(request(mode=Mode.ALL))))


def test_an_alternative_that_would_make_a_claim_too_large_is_passed_over() -> None:
    pick = first_available(asked("many", count=20), asked("few", count=2))

    outcome = search(devices(40), claim(request("first", count=20), pick))

    assert ["gpu/few=gpu-20", "gpu/few=gpu-21"] == chosen(outcome)[0][20:]


def numa(*values: int) -> list[Device]:
    return [Device(f"gpu-{i}", attributes(numa=value)) for i, value in enumerate(values)]


def test_devices_match_in_an_attribute() -> None:
    same = Constraint(match_attribute=NUMA)

    outcome = search(numa(0, 1, 0, 1, 1), claim(request(count=3), constraints=[same]))

    assert [["gpu=gpu-1", "gpu=gpu-3", "gpu=gpu-4"]] == chosen(outcome)


def test_devices_differ_in_an_attribute() -> None:
    different = Constraint(distinct_attribute=NUMA)

    outcome = search(numa(0, 0, 1, 1), claim(request(count=2), constraints=[different]))

    assert [["gpu=gpu-0", "gpu=gpu-2"]] == chosen(outcome)


def test_a_constraint_is_of_the_requests_that_it_names() -> None:
    different = Constraint(("a", "b"), distinct_attribute=NUMA)

    outcome = search(
        numa(0, 0, 1), claim(request("a"), request("c"), request("b"), constraints=[different])
    )

    assert [["a=gpu-0", "c=gpu-1", "b=gpu-2"]] == chosen(outcome)


@pytest.mark.parametrize(
    "constraint", [Constraint(match_attribute=NUMA), Constraint(distinct_attribute=NUMA)]
)
def test_a_device_without_the_attribute_satisfies_no_constraint(constraint: Constraint) -> None:
    outcome = search([Device("a"), *numa(0)], claim(request(), constraints=[constraint]))

    assert [["gpu=gpu-0"]] == chosen(outcome)


def test_a_list_in_a_constraint_is_refused_by_name() -> None:
    listed = Attribute(AttributeKind.LIST, (Attribute(AttributeKind.INT, 1),))
    same = Constraint(match_attribute=NUMA)

    outcome = search([Device("gpu-0", {"numa": listed})], claim(request(), constraints=[same]))

    assert isinstance(outcome, Refused)
    assert outcome.is_unsupported
    assert (
        Unsupported("spec.devices.constraints[0]", "DRAListTypeAttributes"),
    ) == outcome.problems


def test_a_constraint_that_keeps_one_of_all_devices_out_ends_the_search() -> None:
    same = Constraint(match_attribute=NUMA)
    pick = first_available(asked("all", mode=Mode.ALL), asked("one"))

    assert Lack.TOGETHER is lack(search(numa(0, 1), claim(pick, constraints=[same])))


def test_taints_keep_out_what_does_not_tolerate_them() -> None:
    bad = Device("gpu-0", taints=(DeviceTaint("bad", effect="NoSchedule"),))
    odd = Device("gpu-1", taints=(DeviceTaint("odd", effect="None"),))
    tolerant = request(tolerations=(DeviceToleration("bad", "Exists"),))

    assert [["gpu=gpu-1"]] == chosen(search([bad, odd], claim(request())))
    assert [["gpu=gpu-0"]] == chosen(search([bad, odd], claim(tolerant)))


def test_admin_access_takes_devices_in_use_and_each_once_a_claim() -> None:
    watching = claim(request(count=2, admin_access=True))
    taken = taken_by(allocated("gpu-0"))

    assert [["gpu=gpu-0", "gpu=gpu-1"]] == chosen(search(devices(2), watching, taken=taken))
    assert isinstance(search(devices(1), watching, taken=taken), NoFit)
    twice = claim(request("a", admin_access=True), request("b", admin_access=True))
    assert [["a=gpu-0", "b=gpu-1"]] == chosen(search(devices(2), twice, taken=taken))


def shared(memory: str = "40Gi") -> list[Device]:
    return [Device("gpu-0", capacity=capacities(memory=memory), allow_multiple=True)]


def test_shares_fill_a_device() -> None:
    share = claim(request(capacity=amounts(memory="20Gi")))

    outcome = search(shared(), share, share)

    assert isinstance(outcome, Found)
    results = [result for each in outcome.allocations for result in each.results]
    assert [amounts(memory="20Gi")] * 2 == [each.consumed for each in results]
    assert all(each.share_id for each in results)
    assert isinstance(search(shared(), share, share, share), NoFit)


def test_shares_of_claims_leave_what_they_do_not_take() -> None:
    taken = taken_by(allocated("gpu-0", share_id="s", consumed=amounts(memory="30Gi")))

    fits = claim(request(capacity=amounts(memory="10Gi")))
    assert isinstance(search(shared(), fits, taken=taken), Found)
    too_much = claim(request(capacity=amounts(memory="11Gi")))
    assert isinstance(search(shared(), too_much, taken=taken), NoFit)


def test_the_counters_of_a_shared_device_are_charged_once() -> None:
    given = [
        slice_of([], name="s0", slice_count=2, counters=(counter_set("card", m="3"),)),
        slice_of(
            [
                Device(
                    f"gpu-{i}",
                    capacity=capacities(memory="40Gi"),
                    allow_multiple=True,
                    consumes=uses("card", m="2"),
                )
                for i in range(2)
            ],
            name="s1",
            slice_count=2,
        ),
    ]
    share = claim(request(capacity=amounts(memory="20Gi")))

    assert [["gpu=gpu-0"], ["gpu=gpu-0"]] == chosen(search(given, share, share))
    assert isinstance(search(given, share, share, share), NoFit)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (claim(request(device_class="nope")), "device class nope does not exist"),
        (
            Claim("default", "c", problems=(Unsupported("spec.x", "Gate"),)),
            "spec.x is not supported (feature gate Gate)",
        ),
        (
            Claim("default", "c", problems=(Invalid("spec.x", "y", "must be z"),)),
            "spec.x: 'y' must be z",
        ),
        (claim(request(selectors=("device.(",))), "does not compile"),
        (
            claim(request(selectors=(f"device.attributes['{DRIVER}'].x == 1",))),
            f"selector 0 on device {DRIVER}/n0/gpu-1: NOT_FOUND",
        ),
    ],
)
def test_a_claim_that_can_run_nowhere_is_refused(given: Claim, why: str) -> None:
    outcome = search(devices(2), claim(request()), given)

    assert isinstance(outcome, Refused)
    assert why in outcome.why
    assert outcome.claim == 1


def test_an_error_counts_only_if_the_search_comes_to_it() -> None:
    faulty = request(selectors=(f"device.attributes['{DRIVER}'].x == 1",))
    given = [Device("good", attributes(x=1)), Device("bad")]

    assert [["gpu=good"]] == chosen(search(given, claim(faulty)))
    assert isinstance(search(given, claim(faulty), claim(faulty)), Refused)


def test_an_expression_that_does_not_compile_is_said_where_no_device_comes_to_it() -> None:
    outcome = search([], claim(request(selectors=("device.(",))))

    assert isinstance(outcome, Refused)


def test_what_is_lacking_has_the_numbers_of_the_request_that_fails_first() -> None:
    given = [
        Device("x", attributes(kind="other")),
        Device("y", attributes(kind="gpu"), taints=(DeviceTaint("bad", effect="NoExecute"),)),
        *[Device(f"gpu-{i}", attributes(kind="gpu")) for i in range(3)],
    ]
    wanted = claim(request(), request("large", count=4, selectors=kind_is("gpu")))

    outcome = search(given, wanted, taken=taken_by(allocated("gpu-0")))

    assert isinstance(outcome, NoFit)
    funnel = outcome.funnel
    assert (0, "large", 4) == (funnel.claim, funnel.request, funnel.wanted)
    assert (5, 5, 4, 3, 3, 2) == (
        funnel.reaching,
        funnel.of_class,
        funnel.matching,
        funnel.tolerated,
        funnel.sufficient,
        funnel.free,
    )
    assert (("bad:NoExecute", 1),) == funnel.taints


def test_explain_has_the_numbers_of_each_alternative() -> None:
    found = why_not(NODE, [BEST], pools_of(card()), Taken(), CLASSES)

    assert [("gpu/whole", 1), ("gpu/half", 2)] == [(each.request, each.free) for each in found]
    refused = [claim(request(device_class="nope"))]
    assert [] == why_not(NODE, refused, pools_of(card()), Taken(), CLASSES)


def test_pools_that_are_not_understood_are_named_when_nothing_fits() -> None:
    refused = Unsupported("spec.skipNodeOperations", "Gate")

    bad = slice_of(devices(1), slice_count=2, problems=(refused,))
    outcome = search([bad, slice_of([], name="s1", slice_count=2)], claim(request()))

    assert isinstance(outcome, NoFit)
    assert (refused,) == outcome.unsupported


# Every solution, and how much work it takes to find one, or none.


def test_solutions_come_one_after_the_other_and_equal_ones_once() -> None:
    given = [*devices(3), Device("other", attributes(kind="x"))]
    wanted = [claim(request(selectors=(f"has(device.attributes['{DRIVER}'].kind) || true",)))]

    found = list(solutions(NODE, wanted, pools_of(given), Taken(), CLASSES, Budget()))

    assert [["gpu=gpu-0"]] == chosen(found[0])
    assert isinstance(found[-1], NoFit)
    between = claim(request(count=1, selectors=(LARGE,))), claim(request())
    several = list(
        solutions(NODE, between[1:], pools_of(LARGE_AND_SMALL), Taken(), {**CLASSES}, Budget())
    )
    assert [["gpu=a-large"]] == chosen(several[0])


def steps(outcome: Outcome) -> int:
    return outcome.steps


@pytest.mark.parametrize(
    ("given", "claims", "most"),
    [
        # These take other allocators 0.1 to 10 seconds a node.
        (devices(23), [claim(request(count=24))], 0),
        (devices(19), [claim(request(count=20))], 0),
        (devices(15), [claim(request(count=16))], 0),
        (devices(10), [claim(request())] * 11, 0),
        (devices(9), [claim(*[request(f"r{i}") for i in range(10)])], 0),
        (devices(31), [claim(request(count=16), request("b", count=16))], 0),
        (devices(64), [claim(*[request(f"r{i}") for i in range(32)])] * 3, 0),
    ],
)
def test_too_few_equal_devices_are_counted(
    given: list[Device], claims: list[Claim], most: int
) -> None:
    outcome = search(given, *claims)

    assert isinstance(outcome, NoFit)
    assert most == steps(outcome)


def test_a_gang_that_fits_is_found_without_a_detour() -> None:
    outcome = search(devices(64), *[claim(request(count=8))] * 8)

    assert isinstance(outcome, Found)
    # Each member looks past the devices that the others have.
    assert 300 > steps(outcome)


def test_halves_that_do_not_fit_together_are_known_after_each_number_of_them() -> None:
    outcome = search(cards(6), *[BEST] * 13)

    assert isinstance(outcome, NoFit)
    assert 20_000 > steps(outcome)


def cards(count: int) -> list[Any]:
    """Return cards in one pool, each whole or two halves."""
    sets = tuple(counter_set(f"card-{i}", memory="80Gi") for i in range(count))
    given = []
    for i in range(count):
        for name, kind, memory in (
            ("whole", "whole", "80Gi"),
            ("half-0", "half", "40Gi"),
            ("half-1", "half", "40Gi"),
        ):
            consumed = uses(f"card-{i}", memory=memory)
            given.append(Device(f"{i}-{name}", attributes(kind=kind), consumes=consumed))
    return [
        slice_of([], name="s0", slice_count=2, counters=sets),
        slice_of(given, name="s1", slice_count=2),
    ]


def test_constraints_that_cannot_hold_are_known_after_each_value() -> None:
    same = Constraint(match_attribute=NUMA)
    given = numa(*[i // 4 for i in range(32)])

    outcome = search(given, *[claim(request(count=5), constraints=[same])] * 4)

    assert isinstance(outcome, NoFit)
    assert 20_000 > steps(outcome)


def test_the_budget_is_counted_in_steps_and_cuts_a_search_off() -> None:
    budget = Budget(left=100, of_a_search=10)

    outcome = search(devices(64), *[claim(request(count=8))] * 8, budget=budget)

    assert isinstance(outcome, Cut)
    assert outcome.steps == 100 - budget.left
    spent = Budget(left=0)
    assert isinstance(search(devices(2), claim(request()), budget=spent), Cut)
