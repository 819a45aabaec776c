"""What is asked for in a few letters."""

import subprocess
import sys
from pathlib import Path

import pytest

from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.scheduler.provisioning import LENGTH, digest

ROOT = Path(__file__).parents[4]
SCRIPT = (
    "from gang_scheduler.scheduler.provisioning import digest;"
    "print(digest('a', frozenset({'b', 'c', 'd'}), {'x': 1, 'y': 2}))"
)


def in_another_process(seed: str) -> str:
    """Return the digest that a process with other hashes finds."""
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "operator")}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_digest_is_the_same_in_every_process() -> None:
    found = digest("a", frozenset({"b", "c", "d"}), {"y": 2, "x": 1})

    assert {found} == {in_another_process("1"), in_another_process("2")}
    assert len(found) == LENGTH


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("ab",)),
        (("a,b",), ("a", "b")),
        ((1,), ("1",)),
        ((("a",), "b"), ("a", ("b",))),
        ((None,), ("None",)),
        ((RequestState.ASKED,), (RequestState.FAILED,)),
        (({"a": 1},), ({"a": 2},)),
        ((PodClass(requests=(("cpu", 1),)),), (PodClass(requests=(("cpu", 2),)),)),
        ((Toleration("a"),), (Toleration("b"),)),
        ((), ((),)),
    ],
)
def test_other_values_have_other_digests(
    one: tuple[object, ...], other: tuple[object, ...]
) -> None:
    assert digest(*one) != digest(*other)


def test_equal_values_have_equal_digests() -> None:
    assert digest([1, "a"], {"b", "a"}) == digest((1, "a"), frozenset({"a", "b"}))
