"""From a recipe to manifests: the same recipe gives the same ones."""

from collections.abc import Iterator

from search.manifests import Manifest
from search.slow import clusters, crowds
from search.slow.crowds import Crowd, Rooms
from search.slow.recipes import PODS, Recipe


def manifests_of(recipe: Recipe, pods: int = PODS) -> list[Manifest]:
    """Return the objects of a world with so many pods at most, those of suspended Jobs included."""
    return [*_drawn(recipe, pods)]


def _drawn(recipe: Recipe, left: int) -> Iterator[Manifest]:
    yield from clusters.draw(recipe.cluster)
    rooms = Rooms(recipe.cluster)
    for index, genes in enumerate(recipe.crowds):
        for body in crowds.draw(Crowd(index, genes, recipe.cluster), left, rooms):
            if body["kind"] == "Pod":
                left -= 1
            elif body["kind"] == "Job":
                left -= body["spec"]["parallelism"]
            yield body
