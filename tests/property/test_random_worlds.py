"""All laws, on a few worlds of the one generator. `python -m search` in `make test` has more."""

import os
import subprocess
import sys
from functools import cache

import pytest

from search import generator
from search.cases import Case
from search.laws import table
from search.lives import story
from support import thoroughness

WORLDS = 60
LIVES = thoroughness.cases(15, thorough=250)
DIGESTED = 40


@cache
def cases() -> list[Case]:
    """Return the worlds. What is asked of each is asked once, whatever laws look at it."""
    return [Case(generator.world(seed)) for seed in range(WORLDS)]


@pytest.mark.parametrize("law", table.LAWS)
def test_no_world_breaks(law: str) -> None:
    broken = {case.world.seed: table.broken(case, [law]) for case in cases()}

    assert {} == {seed: found for seed, found in broken.items() if found}


@pytest.mark.parametrize("seed", range(LIVES))
def test_nothing_is_wrong_at_the_end_of_a_life(seed: int) -> None:
    life = story.live(seed)

    assert [] == life.complaints, "\n".join(life.story)


def test_strings_may_hash_as_they_like() -> None:
    command = [sys.executable, "-m", "search.digest", str(DIGESTED)]
    paths = os.pathsep.join(path for path in sys.path if path)
    printed = {
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert 1 == len(printed)
