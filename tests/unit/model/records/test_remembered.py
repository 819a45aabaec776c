"""What is remembered: short texts for good, and long ones for as long as they are in use."""

import gc

from gang_scheduler.model import records
from gang_scheduler.model.pods import PodClass


class Counted:
    """A function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *_: object) -> int:
        """Return how often it was called."""
        self.calls += 1
        return self.calls


def counted(most: int = 9) -> tuple[Counted, Counted]:
    function = Counted()
    return function, records.by_short_texts(most)(function)  # type: ignore[return-value]


def test_a_short_text_is_read_once() -> None:
    function, found = counted()

    assert found("1Gi", 1) == found("1Gi", 1)
    assert 1 == function.calls


def test_equal_values_of_other_types_are_not_the_same() -> None:
    function, found = counted()

    assert found(1) != found(1.0)
    assert 2 == function.calls


def test_a_long_text_is_read_again_and_takes_no_memory() -> None:
    function, found = counted()

    assert found("x" * 5000) != found("x" * 5000)
    assert found((("key", "x" * 5000),)) != found((("key", "x" * 5000),))
    assert 4 == function.calls


def test_the_size_is_that_of_all_texts() -> None:
    assert 6 == records.size_of(("abc", (("d", "e"), 5), "f"))


def test_equal_objects_become_one() -> None:
    interned = records.Interned[PodClass]()
    first, second = PodClass(features=("f",)), PodClass(features=("f",))

    assert interned(first) is first
    assert interned(second) is first


def test_an_object_is_forgotten_with_the_last_that_has_it() -> None:
    interned = records.Interned[PodClass]()
    first = interned(PodClass(features=("f",)))
    assert 1 == len(interned)

    del first
    gc.collect()
    assert 0 == len(interned)
