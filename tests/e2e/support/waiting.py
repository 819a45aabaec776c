"""Waiting for what will be true soon, without sleeping longer than that takes."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05


def eventually(
    expected: object, read: Callable[[], object], timeout_seconds: float = TIMEOUT_SECONDS
) -> None:
    """Return once `read()` gives what is expected; fail with the last difference otherwise."""
    assert expected == _last(read, lambda found: found == expected, timeout_seconds)


def until(read: Callable[[], T], timeout_seconds: float = TIMEOUT_SECONDS) -> T:
    """Return the first answer of `read()` that counts as true; fail with the last one otherwise."""
    found = _last(read, bool, timeout_seconds)
    assert found, "did not happen in time"
    return found


def eventually_says(words: str, read: Callable[[], str]) -> None:
    """Return once what is read has these words; fail with the last text otherwise.

    A first answer may lack them: objects of each kind come by a watch of their own, so a pod can
    be tried before the claim or the node that was created before it is seen.
    """
    assert words in _last(read, lambda found: words in found, TIMEOUT_SECONDS)


def eventually_unschedulable(words: str, condition: Callable[[], Mapping[str, str]]) -> None:
    """Return once a condition of a pod or gang says that it is unschedulable, in these words."""

    def message() -> str:
        found = condition()
        return found["message"] if found.get("reason") == "Unschedulable" else ""

    eventually_says(words, message)


def _last(read: Callable[[], T], is_enough: Callable[[T], bool], timeout_seconds: float) -> T:
    """Return the first answer that is enough, or the last one in time."""
    deadline = time.monotonic() + timeout_seconds
    found = read()
    while not is_enough(found) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        found = read()
    return found
