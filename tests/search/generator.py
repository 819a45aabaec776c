"""The one generator of random worlds: whatever a law is about, it draws from here."""

from collections.abc import Container, Iterable
from random import Random
from typing import Final

from search import bound_pods, clusters, gangs
from search.drawing import Drawing, features
from search.worlds import World

WITH_ROLES: Final = 0.3
"""How many of the worlds have gangs with roles."""


def world(seed: int, without: Container[str] = (), always: Iterable[str] = ()) -> World:
    """Return the world of a seed. With features that it always or never has, it is another one."""
    dice = Random(seed)  # noqa: S311 - for worlds, not for secrets.
    # Roles have dice of their own: a world with roles is another one without them, but for these.
    roles = Random(f"roles {seed}")  # noqa: S311 - for worlds, not for secrets.
    found = features(dice) | {*always} | ({"roles"} if roles.random() < WITH_ROLES else set())
    drawing = Drawing(dice, frozenset(each for each in found if each not in without), roles=roles)
    clusters.draw(drawing)
    gangs.draw(drawing)
    bound_pods.draw(drawing)
    return World(seed, tuple(drawing.documents))
