"""Where no gang comes, ends or changes, evictions end, nothing comes twice, and no right is left.

`python -m tools.closed_systems` looks at many more.
"""

from unittest.mock import patch

import pytest

from conformance import queue_manifests
from gang_scheduler.scheduler.rights.yielded import Memory
from property import closed_laws, closed_systems
from property.closed_laws import Life, State
from property.closed_systems import Gang, Policy, System, Tree
from property.naive_queues import NaiveTree, Node

SEEDS = 50
Rule = bool | str | tuple[str, ...]
CIRCLE = {
    "use": "q2-q4-rest",
    "nodes": [{"name": "n1", "allocatable": {"cpu": 5, "memory": "4000Gi", "pods": 500}}],
    "running": [{"gang": "g1", "queue": "q4", "priority": 1, "requests": {"cpu": 5}}],
    "pending": [
        {"gang": "g3", "queue": "q2", "priority": 2, "requests": {"cpu": 5}},
        {"gang": "g2", "queue": "q4", "priority": 0, "requests": {"cpu": 2}},
    ],
}
"""The highest priority evicts while borrowing, its victim's queue reclaims, and so on round."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_closed_system_settles(seed: int) -> None:
    system = closed_systems.system(seed)

    assert [] == [*closed_laws.faults(system, closed_laws.live(system))]


def circle() -> Life:
    """Let the three gangs of the circle run, which no plan shows by itself."""
    return closed_laws.life_of([*queue_manifests.manifests(CIRCLE)])


def test_what_is_remembered_ends_a_circle_of_three() -> None:
    life = circle()

    assert life.settled
    assert len(set(life.states)) == len(life.states) == 3


def test_without_that_it_goes_round() -> None:
    with patch.object(Memory, "closes_a_circle", return_value=False):
        assert not circle().settled


# The laws can be broken.


def two_queues(**policy: Rule) -> System:
    """Return a system in which `mine` waits within its promise, and `theirs` borrows."""
    nodes = [Node("root"), Node("a", "root", {"cpu": 2}), Node("b", "root", {"cpu": 2})]
    tree = NaiveTree(nodes, ("cpu",))
    rules = {name: Policy() for name in ("root", "a", "b")}
    for name, value in policy.items():
        setattr(rules["b" if name.startswith("may_lose") else "a"], name, value)
    gangs = [
        Gang("mine", "ours", "a", 1, 1, {"cpu": 2}, 0, 30),
        Gang("own", "ours", "b", 1, 1, {"cpu": 2}, 1, 10, ("n0",)),
        Gang("theirs", "ours", "b", 1, 1, {"cpu": 2}, 1, 20, ("n0",)),
    ]
    return System({"n0": {"cpu": 4}}, {"ours": Tree("ours", "FairShare", tree, rules, [])}, gangs)


RUN = {"own-0": "n0", "theirs-0": "n0"}


def told(system: System, links: frozenset[tuple[str, str, int]] = frozenset()) -> list[str]:
    life = Life(settled=True, cycles=1, evictions=0, nodes=RUN, links=links)
    return [*closed_laws.faults(system, life)]


def test_a_right_that_is_left_unused_is_found() -> None:
    (fault,) = told(two_queues())

    assert fault.startswith("mine of a waits and may reclaim from ")


@pytest.mark.parametrize(
    "policy",
    [
        {"reclaim": "Never"},
        {"reclaim": "LowerPriority"},
        {"fence": True},
        {"may_lose": False},
        {"may_lose_to": ("c",)},
    ],
)
def test_a_policy_or_a_veto_takes_the_right(
    policy: dict[str, bool | str | tuple[str, ...]],
) -> None:
    assert [] == told(two_queues(**policy))


def test_a_gang_has_no_right_to_what_it_yielded_to_by_the_same_right() -> None:
    links = {("mine", "own", 1), ("own", "theirs", 1)}

    assert [] == told(two_queues(), frozenset(links))
    assert told(two_queues(), frozenset({("mine", "own", 2), ("own", "theirs", 1)}))


def test_what_comes_twice_and_what_does_not_settle_is_found() -> None:
    state: State = (frozenset({"a-0"}), frozenset())
    life = Life(settled=False, cycles=9, evictions=5, states=[state, state])

    assert [
        "not settled after 9 cycles and 5 evictions",
        "twice after an eviction: ['a-0'] with []",
    ] == [*closed_laws.faults(two_queues(), life)]
