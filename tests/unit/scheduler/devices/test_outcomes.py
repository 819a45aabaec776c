"""What a search answers."""

from gang_scheduler.model.devices import Unsupported
from gang_scheduler.scheduler.devices.outcomes import (
    STEPS_OF_A_GANG,
    STEPS_OF_A_SEARCH,
    Budget,
    Refused,
)


def test_the_budget_is_20000_steps_a_search_and_60000_a_gang() -> None:
    assert (20_000, 60_000) == (STEPS_OF_A_SEARCH, STEPS_OF_A_GANG)
    assert Budget(STEPS_OF_A_GANG, STEPS_OF_A_SEARCH) == Budget()


def test_what_is_not_understood_is_distinguished_from_what_is_not_valid() -> None:
    assert not Refused(0, "gpu", "asks for too much").is_unsupported
    assert Refused(0, "gpu", "x is not supported", (Unsupported("x"),)).is_unsupported
