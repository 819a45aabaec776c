"""Looks for slow worlds: `make slow SECONDS=3600 SEED=1`.

Begins with small random clusters and those that earlier runs have kept, changes them towards more
CPU a cycle (or a handler), and keeps the slowest of each kind in a file. Prints the slowest with
the functions that cost most. `--again` measures those of the file; `--show 3` prints the third.
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random
from typing import Final

import yaml

from search.slow import judging, recipes, rendering
from search.slow.archive import Archive, Found
from search.slow.judging import Pace
from search.slow.recipes import Recipe
from tools.bench.cycles import Profiles

NEW: Final = 0.2
"""How many of the worlds are drawn again."""
OLD_SECONDS: Final = 0.25
"""How much of a run may go into measuring again what earlier ones have kept."""
BOUND: Final = 1.0
"""No cycle takes more seconds of CPU, nor a handler a twentieth of it."""


def main() -> int:
    """Search, or look at what was found; the exit status is 1 if a world is over the bound."""
    asked = _arguments()
    archive, pace = Archive(asked.file), Pace(asked.reference)
    known = archive.read()
    if asked.show:
        print(yaml.safe_dump_all(rendering.manifests_of(known[asked.show - 1].recipe)))
        return 0
    ends = time.process_time() + asked.seconds
    enough = float("inf") if asked.again else time.process_time() + OLD_SECONDS * asked.seconds
    for found in known:
        archive.add(
            Found(found.recipe, judging.judge(found.recipe, pace))
            if time.process_time() < enough
            else found
        )
    if not asked.again:
        _search(archive, pace, Random(asked.seed), ends)  # noqa: S311 - for worlds, not secrets.
    archive.write()
    print(f"seconds are those of a machine on which a sample takes --reference {pace.best:.4f}")
    return _report(archive, pace, asked.top)


def _search(archive: Archive, pace: Pace, dice: Random, ends: float) -> None:
    number = 0
    while time.process_time() < ends:
        number += 1
        recipe = _next(archive, dice)
        found = Found(recipe, judging.judge(recipe, pace))
        if archive.add(found) and found is archive.every()[0]:
            print(f"world {number}: {_told(found)}", flush=True)
        if number % 20 == 0:
            archive.write()
    print(f"{number} worlds")


def _next(archive: Archive, dice: Random) -> Recipe:
    known = archive.every()
    if not known or dice.random() < NEW:
        return recipes.drawn(dice)
    # The slowest are changed most often, but others, too: they may become slower still.
    place = min(int(dice.expovariate(4 / len(known))), len(known) - 1)
    return recipes.changed(known[place].recipe, dice.choice(known).recipe, dice)


def _report(archive: Archive, pace: Pace, top: int) -> int:
    every = archive.every()
    for place, found in enumerate(every[:top], start=1):
        profiles = Profiles(found.verdict.phase)
        judging.judge(found.recipe, pace, profiles)
        print(f"{place}. {_told(found)}")
        print("".join(f"     {each}\n" for each in profiles.dearest(5)), end="")
    return int(any(each.verdict.seconds > BOUND for each in every))


def _told(found: Found) -> str:
    cluster = {key: each for key, each in found.recipe.cluster.items() if each}
    crowds = [{key: each for key, each in genes.items() if each} for genes in found.recipe.crowds]
    return f"{found.verdict.seconds:.2f} s in {found.verdict.phase}: {cluster}, {crowds}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m search.slow", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--reference",
        type=float,
        default=0,
        metavar="SECONDS",
        help="the CPU of a sample on this machine when it is quiet, which a run prints; without "
        "it, that of the run's fastest sample, which is too much if the machine is never quiet",
    )
    parser.add_argument("--file", type=Path, default=Path("build/slow/worlds.json"))
    parser.add_argument("--top", type=int, default=5, help="how many are profiled and printed")
    parser.add_argument("--again", action="store_true", help="only measure the worlds of the file")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print a world as YAML")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
