"""The combinations of flavors of a gang with many podsets, and what they cost."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gang_scheduler.model.queues import Flavor, FlavorResource, Product, QueueSet, ResourceGroup
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.placement.placement_units import PodSetKey
from gang_scheduler.scheduler.turns import requests
from gang_scheduler.scheduler.turns.flavors import Choice
from gang_scheduler.scheduler.turns.requests import MOST_OPTIONS, FlavorOption
from support import builders
from support.builders import node
from support.call_counts import Calls, calls_of
from support.queue_builders import cluster_queue, cq_ref
from support.queue_worlds import decide, in_queue, world

NAMES = tuple(f"f{i}" for i in range(4))
CHOICES = tuple(Choice((("cpu", name),), labels=(("t", name),)) for name in NAMES)
CPU = tuple(FlavorResource(name, "cpu") for name in NAMES)
JUDGED, CONFINED, CHARGED = "flavors._is_selected", "flavors.confined", "queues.QueueSet.charged"


def key_of(number: int) -> PodSetKey:
    return builders.pod_class(cpu=number + 1), f"owner-{number}"


def naive(
    podsets: Mapping[PodSetKey, int], choices: Mapping[PodSetKey, Sequence[Choice]]
) -> list[dict[PodSetKey, Choice]]:
    """Return the choices of each option, written down as the docstring says."""
    needed = [key for key, number in podsets.items() if number]
    spare = {key: choices[key][0] for key in podsets if not podsets[key] and choices[key]}
    combinations = itertools.product(*(choices[key] for key in needed))
    some = itertools.islice(combinations, MOST_OPTIONS)
    return [{**spare, **dict(zip(needed, chosen, strict=True))} for chosen in some]


@pytest.mark.parametrize(
    ("numbers", "flavors"),
    [
        ([1], [4]),
        ([2, 3, 1], [2, 4, 3]),
        ([1, 1, 1], [4, 4, 4]),
        ([1, 0, 5, 1], [4, 4, 1, 4]),
        ([1, 0, 1], [1, 3, 1]),
        ([1] * 9, [2] * 9),
        ([1] * 40, [1, 4] * 20),
        ([0, 1], [0, 2]),
        ([1, 1], [2, 0]),
        ([0, 0], [2, 2]),
        ([], []),
    ],
)
def test_options_are_the_combinations_and_their_charges(
    numbers: list[int], flavors: list[int]
) -> None:
    podsets = {key_of(i): number for i, number in enumerate(numbers)}
    choices = {key_of(i): CHOICES[:number] for i, number in enumerate(flavors)}
    declared = QueueSet()

    found = list(requests.options(podsets, choices, declared))

    assert naive(podsets, choices) == [option.choices for option, _ in found]
    for option, charge in found:
        assert FlavorOption(option.choices, declared).charge(podsets) == charge


def asking(classes: int) -> Snapshot:
    """Return a gang with members of so many classes, in four flavors without room for them."""
    groups = (ResourceGroup(("cpu",), NAMES),)
    own = cluster_queue("q", "", dict.fromkeys(CPU, 1_000_000))
    members = [builders.pod(f"a-{i}", gang="a", cpu=i + 1) for i in range(classes)]
    declared = [Flavor(Product.KUEUE, name, node_labels=(("t", name),)) for name in NAMES]
    return world(
        [replace(own, resource_groups=groups)],
        [in_queue(cq_ref("q"), "a", members=members)],
        [node(f"n-{name}", cpu=1, labels={"t": name}) for name in NAMES],
        flavors=declared,
    )


def cost(classes: int) -> Calls:
    snapshot = asking(classes)
    return calls_of(lambda: decide(snapshot))


def test_classes_that_differ_in_their_requests_alone_are_judged_once() -> None:
    assert len(NAMES) == cost(20)[JUDGED]


def test_the_options_of_a_gang_are_charged_by_what_differs() -> None:
    few, many = cost(20), cost(40)

    assert many[CHARGED] - few[CHARGED] < 20 * 10


def test_a_class_is_confined_to_a_flavor_once_for_all_options() -> None:
    # Of 64 options the last three podsets have other flavors than the first.
    assert 20 < cost(20)[CONFINED] <= 20 + 3 * 3
