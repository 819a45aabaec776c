"""The slowest worlds that were found: some for each phase and kind of queues, kept in a file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from search.slow import clusters
from search.slow.judging import Verdict
from search.slow.recipes import Recipe

MOST: Final = 4
"""Worlds of one niche: the search goes on from several, and not from one world and its kin."""


class Found(NamedTuple):
    """A world, and how slow it was."""

    recipe: Recipe
    verdict: Verdict


class Archive:
    """The slowest worlds of each niche, in a file that a run goes on from."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._niches: dict[tuple[str, str], list[Found]] = {}

    def read(self) -> list[Found]:
        """Return the worlds of earlier runs, the slowest first."""
        if not self._path.exists():
            return []
        found = json.loads(self._path.read_text())
        return [
            Found(Recipe.of_json(each["recipe"]), Verdict(each["phase"], each["seconds"]))
            for each in found
        ]

    def add(self, found: Found) -> bool:
        """Keep a world if it is among the slowest of its niche; return whether it is."""
        niche = self._niches.setdefault(_niche(found), [])
        niche.append(found)
        niche.sort(key=lambda each: -each.verdict.seconds)
        del niche[MOST:]
        return found in niche

    def every(self) -> Sequence[Found]:
        """Return all worlds that are kept, the slowest first."""
        return sorted(self._each(), key=lambda each: -each.verdict.seconds)

    def write(self) -> None:
        """Write the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                "phase": each.verdict.phase,
                "seconds": round(each.verdict.seconds, 3),
                "recipe": each.recipe.as_json(),
            }
            for each in self.every()
        ]
        self._path.write_text(json.dumps(rows, indent=1) + "\n")

    def _each(self) -> Iterator[Found]:
        for niche in self._niches.values():
            yield from niche


def _niche(found: Found) -> tuple[str, str]:
    return found.verdict.phase, clusters.product(found.recipe.cluster)
