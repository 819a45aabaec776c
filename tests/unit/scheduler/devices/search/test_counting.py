"""Whether there are devices enough, by counting alone."""

from gang_scheduler.model.devices import Claim, Device, Mode
from gang_scheduler.scheduler.devices import search
from support.device_builders import (
    DRIVER,
    asked,
    asked_for,
    attributes,
    candidates_of,
    claim,
    devices,
    first_available,
    request,
    room_of,
)


def of_kind(*kinds: str) -> tuple[str, ...]:
    return (f"device.attributes['{DRIVER}'].kind in {list(kinds)}",)


def given(*kinds: str) -> list[Device]:
    return [Device(f"gpu-{i}", attributes(kind=kind)) for i, kind in enumerate(kinds)]


def short(found: list[Device], *claims: Claim) -> str | None:
    """Return the request for which there is too little, whichever way it is counted."""
    wanted = asked_for(*claims)
    candidates = candidates_of(found, wanted)
    choice = search.short_alone(wanted, candidates) or search.short_beside_others(
        wanted, candidates, 0, room_of(wanted, candidates)
    )
    return None if choice is None else choice.name


def test_a_request_alone_can_be_too_large() -> None:
    assert short(devices(2), claim(request("a"), request("b", count=3))) == "b"
    assert short(devices(3), claim(request("b", count=3))) is None


def test_an_alternative_is_enough() -> None:
    several = first_available(asked("many", count=9), asked("few", count=1))

    assert short(devices(2), claim(several)) is None


def test_requests_for_the_same_devices_need_them_together() -> None:
    assert short(devices(10), *[claim(request())] * 11) == "gpu"
    assert short(devices(10), *[claim(request())] * 10) is None


def test_requests_move_to_other_kinds_if_these_will_do() -> None:
    either, first = request("e", selectors=of_kind("a", "b")), request("a", selectors=of_kind("a"))

    assert short(given("a", "b"), claim(either, first)) is None
    assert short(given("a", "c"), claim(either, first)) == "a"


def test_a_chain_of_moves_is_found() -> None:
    wanted = [
        request("ab", count=2, selectors=of_kind("a", "b")),
        request("bc", count=2, selectors=of_kind("b", "c")),
        request("a", count=2, selectors=of_kind("a")),
    ]

    assert short(given(*"aabbcc"), claim(*wanted)) is None
    assert short(given(*"aabbc"), claim(*wanted)) == "a"


def test_devices_in_use_and_all_of_them_are_not_counted() -> None:
    watching = request("w", admin_access=True)

    assert short(devices(1), claim(watching), claim(watching), claim(request())) is None
    assert short(devices(2), claim(request(mode=Mode.ALL)), claim(request())) is None


def test_shares_are_not_counted() -> None:
    shared = [Device("gpu-0", allow_multiple=True)]

    assert short(shared, *[claim(request())] * 5) is None
