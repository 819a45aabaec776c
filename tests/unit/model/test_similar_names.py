"""Names that are like one are found as difflib finds them, at a cost that no name can raise."""

import difflib
import random
from collections import defaultdict
from typing import Any

import pytest

from gang_scheduler.model import similar_names
from gang_scheduler.model.similar_names import LONGEST, MOST_LETTERS, close_to
from support import cpu

WORDS = [f"{a}-{b}{i}" for a in ("train", "eval", "llm") for b in ("x", "prod-") for i in range(20)]


def misspelt(dice: random.Random) -> str:
    letters = list(dice.choice(WORDS))
    letters[dice.randrange(len(letters))] = dice.choice("abx-")
    return "".join(letters)


@pytest.mark.parametrize("cutoff", [0.6, 0.75, 0.95])
def test_what_is_found_is_what_difflib_finds(cutoff: float) -> None:
    dice = random.Random(1)  # noqa: S311 - the same names every time.
    for name in (misspelt(dice) for _ in range(100)):
        expected = difflib.get_close_matches(name, WORDS, n=1, cutoff=cutoff)
        assert expected == close_to(name, set(WORDS), cutoff=cutoff)


def test_several_are_found_best_first() -> None:
    assert ["trains", "train-x"] == close_to("trainz", ["train-x", "serve", "trains"], most=2)


@pytest.mark.parametrize(("name", "known"), [("", ["a"]), ("a", [""]), ("a", []), ("x", ["y"])])
def test_nothing_is_like_nothing(name: str, known: list[str]) -> None:
    assert [] == [*close_to(name, known)]


def test_a_name_that_is_longer_than_any_is_like_none() -> None:
    assert not close_to("a" * (LONGEST + 1), ["a" * (LONGEST + 1)])
    assert not close_to("a" * LONGEST, ["a" * (LONGEST + 1)])


@pytest.mark.parametrize("letters", ["a", "ab", "abcdefghij-0123456789"])
@pytest.mark.parametrize("length", [63, 253])
def test_few_letters_are_read_of_many_names_and_few_names_compared(
    letters: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(2)  # noqa: S311 - the same names every time.
    known = ["".join(dice.choices(letters, k=length)) for _ in range(3000)]
    read: list[str] = []
    compared: list[list[str]] = []
    in_common, matches = similar_names._in_common, difflib.get_close_matches

    def reading(masks: defaultdict[str, int], whole: int, other: str) -> int:
        read.append(other)
        return in_common(masks, whole, other)

    def comparing(word: str, some: list[str], **more: Any) -> list[str]:
        compared.append(some)
        return matches(word, some, **more)

    monkeypatch.setattr(similar_names, "_in_common", reading)
    monkeypatch.setattr(difflib, "get_close_matches", comparing)

    close_to(known[0][::-1], known, cutoff=0.75)

    assert 0 < sum(map(len, read)) <= MOST_LETTERS
    assert all(len(each) <= similar_names.COMPARED for each in compared)


def test_names_that_are_all_alike_take_some_milliseconds() -> None:
    dice = random.Random(3)  # noqa: S311 - the same names every time.
    known = ["".join(dice.choices("ab", k=63)) for _ in range(1000)]

    cpu.at_most(200, lambda: close_to(known[0][::-1], known, cutoff=0.75))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("topology.kubernetes.io/rack", []),
        ("topology.kubernetes.io/block", []),
        ("network.example.com/rack", []),
        ("kubernetes.io/hostnam", ["kubernetes.io/hostname"]),
        ("kubernetes.io/host", ["kubernetes.io/hostname"]),
        ("topology.kubernetes.io/zones", ["topology.kubernetes.io/zone"]),
        ("topology.k8s.io/zone", ["topology.kubernetes.io/zone"]),
        ("topology.kubernetes.io/Zone", ["topology.kubernetes.io/zone"]),
        ("kubernetes.io/rack", []),
        ("failure-domain.kubernetes.io/zone", ["topology.kubernetes.io/zone"]),
    ],
)
def test_names_are_alike_in_the_part_that_tells_them_apart(name: str, found: list[str]) -> None:
    known = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    own = similar_names.alike_in_part(name, known, lambda key: key.rpartition("/")[2], cutoff=0.6)

    assert found == [*own]
