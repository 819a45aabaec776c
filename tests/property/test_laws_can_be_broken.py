"""The checker itself: each law tells a wrong answer from a right one."""

from typing import Any

import pytest

from search import manifests
from search.answers import Answer, Cycle
from search.cases import Case
from search.laws import table
from search.manifests import POD_GROUP_LABEL, Manifest
from search.worlds import World

MUST_GATHER = manifests.gather_spec("S", (), {})


def pod(name: str, node: str = "", priority: int = 0, **fields: Any) -> Manifest:
    """Return a pod of one CPU; its gang is the first part of its name, where there is a hyphen."""
    gang = name.partition("-")
    labels = {POD_GROUP_LABEL: gang[0], **fields.pop("labels", {})} if gang[1] else {}
    spec = {"priority": priority, **({"nodeName": node} if node else {})}
    return manifests.pod(name, {"cpu": 1}, spec=spec, labels=labels, **fields)


def member(role: str, number: int, node: str = "", priority: int = 0) -> Manifest:
    """Return a member of gang g with a role."""
    return pod(f"g-{number}", node, priority, labels={manifests.ROLE: role})


def world(*documents: Manifest, cpu: int = 2) -> list[Manifest]:
    """Return two nodes in two spines, and these objects."""
    nodes = [
        manifests.node(f"n{i}", {"cpu": cpu, "pods": 9}, {"spine": f"s{i}"}, created=1_000)
        for i in range(2)
    ]
    return [*nodes, manifests.network([("S", "spine")]), *documents]


def complaints(law: str, documents: list[Manifest], cycle: Cycle, **lists: Any) -> dict[str, str]:
    """Return what a law says of an answer that was made up."""
    empty: dict[str, list[Any]] = {
        name: [] for name in ("bindings", "nominations", "victims", "unschedulable")
    }
    answer = Answer({**empty, **lists}, [cycle])
    case = Case(World(0, tuple(documents)))
    case.__dict__.update(once=answer, settled=answer)
    return table.broken(case, [law])


GANG = manifests.pod_group("g", 2)
RUNNING = [pod("low", "n0"), pod("low2", "n0")]
GROUP = [
    manifests.pod_group(
        "g", 1, annotations={"gang.scheduling.koordinator.sh/groups": '["default/h"]'}
    ),
    manifests.pod_group("h", 1),
]
GATHERED = manifests.pod_group(
    "g", 2, annotations={"gang.scheduling.koordinator.sh/network-topology-spec": MUST_GATHER}
)
SLICED = {
    "kueue.x-k8s.io/podset-slice-required-topology": "spine",
    "kueue.x-k8s.io/podset-slice-size": "2",
}
INDEX = manifests.KOORDINATOR + "network-topology-index"
LEAVING = pod("old", "n1", deletionTimestamp=manifests.when(5_000))
WRONG = {
    "lists": (world(pod("p")), Cycle()),
    "quorums": (world(GANG, pod("g-0"), pod("g-1")), Cycle(binds={"default/g-0": "n0"})),
    "groups": (world(*GROUP, pod("g-0"), pod("h-0")), Cycle(binds={"default/g-0": "n0"})),
    "places": (world(*RUNNING, pod("p")), Cycle(binds={"default/p": "n0"})),
    "nominations": (world(*RUNNING, pod("p")), Cycle(nominations={"default/p": "n0"})),
    "gathering": (
        world(GATHERED, pod("g-0"), pod("g-1")),
        Cycle(binds={"default/g-0": "n0", "default/g-1": "n1"}),
    ),
    "slices": (
        world(manifests.pod_group("g", 2), *(pod(f"g-{i}", annotations=SLICED) for i in range(2))),
        Cycle(binds={"default/g-0": "n0", "default/g-1": "n1"}),
    ),
    "no_leaving_room_is_missed": (
        world(LEAVING, pod("p", priority=9), cpu=1)[1:],
        Cycle(refused={"default/p": "Unschedulable"}),
    ),
    "no_place_is_left": (world(pod("p")), Cycle(refused={"default/p": "Unschedulable"})),
    "no_surplus_is_left": (
        world(manifests.pod_group("g", 1), pod("g-0"), pod("g-1")),
        Cycle(binds={"default/g-0": "n0"}, refused={"default/g-1": "Unschedulable"}),
    ),
    "quorums_come_first": (
        world(manifests.pod_group("g", 1), pod("g-0"), pod("g-1"), pod("p"), cpu=1),
        Cycle(
            binds={"default/g-0": "n0", "default/g-1": "n1"},
            refused={"default/p": "Unschedulable"},
        ),
    ),
    "victims_may_go": (
        world(*RUNNING, pod("p", priority=0)),
        Cycle(nominations={"default/p": "n0"}, victims={"default/low": "default/p"}),
    ),
    "gangs_go_whole": (
        world(GANG, pod("g-0", "n0"), pod("g-1", "n1"), pod("p", priority=9)),
        Cycle(nominations={"default/p": "n0"}, victims={"default/g-0": "default/p"}),
    ),
    "highest_ranks_go_first": (
        world(
            manifests.pod_group("g", 1),
            *(pod(f"g-{i}", f"n{i}", annotations={INDEX: str(i)}) for i in range(2)),
            pod("p", priority=9),
            cpu=1,
        ),
        Cycle(nominations={"default/p": "n0"}, victims={"default/g-0": "default/p"}),
    ),
    "plans_are_complete": (
        world(GANG, *RUNNING, pod("g-0", priority=9), pod("g-1", priority=9)),
        Cycle(nominations={"default/g-0": "n0"}, victims={"default/low": "default/g"}),
    ),
    "none_evicts_in_vain": (
        world(*RUNNING, pod("p", priority=9)),
        Cycle(nominations={"default/p": "n0"}, victims={"default/low": "default/p"}),
    ),
    "victims_are_the_cheapest": (
        world(pod("low", "n0"), pod("low2", "n1", priority=5), pod("p", priority=9), cpu=1),
        Cycle(nominations={"default/p": "n1"}, victims={"default/low2": "default/p"}),
    ),
    "room_is_made_if_it_can_be": (
        world(pod("low", "n0"), pod("low2", "n1"), pod("p", priority=9), cpu=1),
        Cycle(refused={"default/p": "Unschedulable"}),
    ),
}


ROLES = manifests.pod_group("g", 2, annotations={manifests.ROLES: '{"m": 1, "w": 1}'})
WRONG_BY_ROLE = {
    "quorums": (
        world(ROLES, *(member("w", i) for i in range(2)), member("m", 2), cpu=3),
        Cycle(binds={"default/g-0": "n0", "default/g-1": "n1"}),
    ),
    "gangs_go_whole": (
        world(
            ROLES,
            member("m", 0, "n0"),
            *(member("w", i, "n1") for i in (1, 2, 3)),
            pod("p", priority=9),
            cpu=3,
        ),
        Cycle(nominations={"default/p": "n0"}, victims={"default/g-0": "default/p"}),
    ),
    "plans_are_complete": (
        world(
            ROLES,
            *RUNNING,
            *(member("w", i, priority=9) for i in range(2)),
            member("m", 2, priority=9),
        ),
        Cycle(
            nominations={"default/g-0": "n0", "default/g-1": "n0"},
            victims={"default/low": "default/g", "default/low2": "default/g"},
        ),
    ),
    "no_place_is_left": (
        world(ROLES, member("w", 0), member("w", 1), member("m", 2), cpu=1),
        Cycle(refused={f"default/g-{i}": "Unschedulable" for i in range(3)}),
    ),
    "victims_are_the_cheapest": (
        world(
            ROLES,
            member("m", 0, "n0"),
            *(member("w", i, "n1") for i in (1, 2)),
            pod("p", priority=9),
        ),
        Cycle(
            nominations={"default/p": "n1"},
            victims={f"default/g-{i}": "default/p" for i in range(3)},
        ),
    ),
}


@pytest.mark.parametrize("law", WRONG_BY_ROLE)
def test_an_answer_that_is_wrong_by_role_alone_breaks(law: str) -> None:
    documents, cycle = WRONG_BY_ROLE[law]

    assert [law] == [*complaints(law, documents, cycle)]


@pytest.mark.parametrize("law", WRONG_BY_ROLE)
def test_the_right_answer_by_role_does_not_break(law: str) -> None:
    documents, _ = WRONG_BY_ROLE[law]

    assert {} == table.broken(Case(World(0, tuple(documents))), [law])


@pytest.mark.parametrize("law", WRONG)
def test_a_wrong_answer_breaks(law: str) -> None:
    documents, cycle = WRONG[law]

    assert [law] == [*complaints(law, documents, cycle)]


@pytest.mark.parametrize("law", WRONG)
def test_the_right_answer_does_not_break(law: str) -> None:
    documents, _ = WRONG[law]

    assert {} == table.broken(Case(World(0, tuple(documents))), [law])


def test_a_pod_that_is_evicted_twice_is_reported() -> None:
    twice = [{"pod": "default/low", "preemptor": "default/p"}] * 2
    found = complaints("the_end_comes", world(*RUNNING), Cycle(), victims=twice)

    assert {"the_end_comes": "default/low is evicted 2 times"} == found


def test_a_preemptor_that_never_starts_is_reported() -> None:
    victims = [{"pod": "default/low", "preemptor": "default/p", "gang": None}]
    found = complaints("preemptors_start", world(*RUNNING), Cycle(), victims=victims)

    assert ["preemptors_start"] == [*found]
