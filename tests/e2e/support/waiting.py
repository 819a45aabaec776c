"""Waiting for what will be true soon, without sleeping longer than that takes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05


def eventually(
    expected: object, read: Callable[[], object], timeout_seconds: float = TIMEOUT_SECONDS
) -> None:
    """Return once `read()` gives what is expected; fail with the last difference otherwise."""
    deadline = time.monotonic() + timeout_seconds
    found = read()
    while found != expected and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        found = read()
    assert expected == found


def until(read: Callable[[], T], timeout_seconds: float = TIMEOUT_SECONDS) -> T:
    """Return the first answer of `read()` that counts as true; fail with the last one otherwise."""
    deadline = time.monotonic() + timeout_seconds
    found = read()
    while not found and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        found = read()
    assert found, "did not happen in time"
    return found


def eventually_says(words: str, read: Callable[[], str]) -> None:
    """Return once what is read has these words; fail with the last text otherwise.

    A first answer may lack them: objects of each kind come by a watch of their own, so a pod can
    be tried before the claim or the node that was created before it is seen.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    found = read()
    while words not in found and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        found = read()
    assert words in found
