"""Which flavors members of a class can have."""

from dataclasses import replace

from gang_scheduler.model.queues import Flavor, Product, QueueSet, ResourceGroup
from gang_scheduler.scheduler.turns.flavors import FlavorChoices
from support import builders

NAMES = ("small", "large")
GROUPS = (ResourceGroup(("cpu",), NAMES),)
FLAVORS = tuple(Flavor(Product.OURS, name, (("size", name),)) for name in NAMES)


def choices() -> FlavorChoices:
    return FlavorChoices(QueueSet((), flavors=FLAVORS))


def test_a_class_has_the_flavors_that_it_selects() -> None:
    found, anywhere = choices(), builders.pod_class(cpu=1)
    small = replace(anywhere, node_selector=(("size", "small"),))

    names = [
        [dict(choice.flavors)["cpu"] for choice in found.choices(Product.OURS, GROUPS, each)[0]]
        for each in (anywhere, small, anywhere)
    ]

    assert [["small", "large"], ["small"], ["small", "large"]] == names


def test_members_keep_the_flavors_that_others_have() -> None:
    found, some = choices(), builders.pod_class(cpu=1)

    free, _ = found.choices(Product.OURS, GROUPS, some)
    kept, _ = found.choices(Product.OURS, GROUPS, some, [("cpu", "large")])

    assert (2, 1) == (len(free), len(kept))
