"""Looks for worlds in which a law is broken: `make search CASES=100000 SEED=1`.

Prints the first complaints of each law that is broken, with a command that repeats them, and keeps
those worlds, made smaller, where `simulate -f` can read them.
"""

import argparse
import logging
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import structlog
import yaml

from search import generator, shrinking
from search.cases import Case
from search.laws import table
from search.lives import story
from search.worlds import World

CHUNK = 25
Broken = dict[str, str]


def main() -> int:
    """Search, or look at one world; the exit status is 1 if a law is broken."""
    asked = _arguments()
    if asked.show is not None:
        world = generator.world(asked.show, asked.without)
        return _show(table.broken(Case(world)), world)
    if asked.check:
        documents = [each for each in yaml.safe_load_all(asked.check.read_text()) if each]
        return _show(table.broken(Case(World(asked.seed, tuple(documents)))))
    return _search_lives(asked) if asked.lives else _search(asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m search", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many worlds")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--lives", type=int, default=0, help="how many whole lives, instead")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--examples", type=int, default=2, help="how many worlds a law to keep")
    parser.add_argument("--out", type=Path, default=Path("build/search"), help="where to keep them")
    parser.add_argument("--without", nargs="*", default=(), help="features that no world has")
    parser.add_argument("--laws", nargs="*", default=(), help="the only laws to look at")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the world of a seed")
    parser.add_argument("--check", type=Path, metavar="FILE", help="hold a file against the laws")
    return parser.parse_args()


def _show(broken: Broken, world: World | None = None) -> int:
    remarks = [f"{law}: {complaint}" for law, complaint in broken.items()]
    print(world.as_yaml(f"seed {world.seed}", *remarks) if world else "\n".join(remarks))
    return bool(broken)


def _search(asked: argparse.Namespace) -> int:
    counts: Counter[str] = Counter()
    done = 0
    for seed, broken in _looked_at(asked):
        done += 1
        for law, complaint in broken.items():
            counts[law] += 1
            if counts[law] <= asked.examples:
                print(f"{law}: {complaint}\n    {_command(seed, asked)}", flush=True)
                _keep(asked.out, generator.world(seed, asked.without), law)
        if done % 1000 == 0:
            print(f"{done} worlds, {sum(counts.values())} times a law was broken", flush=True)
    print(f"{done} worlds from seed {asked.seed} on, held against {len(table.LAWS)} laws")
    for law, number in counts.most_common():
        print(f"    {number} break {law}")
    return bool(counts)


def _search_lives(asked: argparse.Namespace) -> int:
    """Let the operator live through many worlds, and tell the story of each that ends wrongly."""
    wrong = done = 0
    with multiprocessing.Pool(asked.jobs) as pool:
        seeds = range(asked.seed, asked.seed + asked.lives)
        for done, (seed, complaints) in enumerate(pool.imap(look_at_life, seeds), start=1):
            wrong += bool(complaints)
            if complaints:
                print(f"life {seed}: {'; '.join(complaints)}", flush=True)
            if done % 100 == 0:
                print(f"{done} lives, {wrong} end wrongly", flush=True)
    print(f"{done} lives from seed {asked.seed} on, of which {wrong} end wrongly")
    return bool(wrong)


def look_at_life(seed: int) -> tuple[int, list[str]]:
    """Return what is wrong at the end of the life of a seed."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    return seed, story.live(seed).complaints


def _looked_at(asked: argparse.Namespace) -> Iterator[tuple[int, Broken]]:
    seeds = range(asked.seed, asked.seed + asked.cases)
    judge = partial(look, without=tuple(asked.without), laws=tuple(asked.laws))
    with multiprocessing.Pool(asked.jobs) as pool:
        yield from pool.imap(judge, seeds, chunksize=CHUNK)


def look(
    seed: int, without: tuple[str, ...] = (), laws: tuple[str, ...] = ()
) -> tuple[int, Broken]:
    """Return the laws that the world of a seed breaks."""
    return seed, table.broken(Case(generator.world(seed, without)), laws)


def _command(seed: int, asked: argparse.Namespace) -> str:
    without = " ".join(f"'{name}'" for name in asked.without)
    return f"python -m search --show {seed}{' --without ' if without else ''}{without}"


def _keep(where: Path, world: World, law: str) -> None:
    where.mkdir(parents=True, exist_ok=True)
    small = shrinking.shrunk(world, law)
    complaint = table.broken(Case(small), [law])[law]
    text = small.as_yaml(f"seed {world.seed}, made smaller", f"{law}: {complaint}")
    (where / f"{law}-{world.seed}.yaml".replace(" ", "-")).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
