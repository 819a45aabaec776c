"""Where no gang comes, ends or changes, evictions end, nothing comes twice, and no right is left.

`python -m tools.closed_systems` looks at many more.
"""

from unittest.mock import patch

import pytest

from conformance import queue_manifests
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.reclaim.ping_pong import Memory
from property import closed_laws, closed_systems
from property.closed_laws import Life, State
from property.closed_systems import Gang, Policy, System, Tree
from property.naive_queues import NaiveTree, Node
from support.thoroughness import cases

SEEDS = cases(25, thorough=500)
BORROWS = {"borrowing": {"enabled": True}}
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


@pytest.mark.parametrize("seed", range(SEEDS))
def test_so_does_one_in_which_gangs_are_promised_starts(seed: int) -> None:
    life = closed_laws.live(closed_systems.system(seed), reservations=2)

    assert [] == [*closed_laws.unsettled(life)]


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


def guests(number: int) -> queue_manifests.Case:
    """Return a world in which many look for victims in vain, and the last one within its promise.

    Before that one, a gang of its own queue asks for more than that.
    """
    vain = [f"vain-{n}" for n in range(number)]
    declared: list[tuple[str, int, queue_manifests.Case]] = [
        ("root", 12, {"fairness": "Priority"}),
        ("owner", 4, BORROWS),
        ("rest", 8, {}),
        ("guest", 0, {**BORROWS, "preemption": {"reclaim": "Never"}}),
        *((name, 0, BORROWS) for name in vain),
    ]
    objects = [
        {"kind": "Queue", "name": name, "spec": {"quota": {"soft": {"cpu": cpu}}, **more}}
        for name, cpu, more in declared
    ]
    return {
        "objects": objects,
        "nodes": [{"name": "n1", "allocatable": {"cpu": 20, "memory": "4000Gi", "pods": 500}}],
        "running": [{"gang": f"r{n}", "queue": "guest", "requests": {"cpu": 4}} for n in range(3)],
        "pending": [
            *(
                {"gang": name, "queue": name, "priority": 1, "requests": {"cpu": 1}}
                for name in vain
            ),
            {"gang": "large", "queue": "owner", "priority": 1, "requests": {"cpu": 6}},
            {"gang": "mine", "queue": "owner", "requests": {"cpu": 4}},
        ],
    }


def test_searches_that_were_cut_off_are_made_up_for() -> None:
    """With looks for one or two of them in a cycle: else the last one would never have any."""
    with patch.object(effort, "MOST_OF_ALL", 40):
        life = closed_laws.life_of([*queue_manifests.manifests(guests(6))])

    assert life.settled
    assert "mine-0" in life.nodes


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
