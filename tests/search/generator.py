"""The one generator of random worlds: whatever a law is about, it draws from here."""

from collections.abc import Container, Iterable
from random import Random

from search import bound_pods, clusters, gangs
from search.drawing import Drawing, features
from search.worlds import World


def world(seed: int, without: Container[str] = (), always: Iterable[str] = ()) -> World:
    """Return the world of a seed. With features that it always or never has, it is another one."""
    dice = Random(seed)  # noqa: S311 - for worlds, not for secrets.
    has = frozenset(name for name in features(dice) | {*always} if name not in without)
    drawing = Drawing(dice, has)
    clusters.draw(drawing)
    gangs.draw(drawing)
    bound_pods.draw(drawing)
    return World(seed, tuple(drawing.documents))
