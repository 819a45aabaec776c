"""Which flavors members of a class can have, and how often that is found out."""

from dataclasses import replace

from gang_scheduler.model.queues import Flavor, Product, QueueSet, ResourceGroup
from gang_scheduler.scheduler.turns.flavors import FlavorChoices
from support import builders
from support.call_counts import calls_of

NAMES = ("small", "large")
GROUPS = (ResourceGroup(("cpu",), NAMES),)
FLAVORS = tuple(Flavor(Product.OURS, name, (("size", name),)) for name in NAMES)
JUDGED = "flavors._is_selected"


def choices() -> FlavorChoices:
    return FlavorChoices(QueueSet((), flavors=FLAVORS))


def test_classes_that_differ_in_their_requests_alone_are_judged_once() -> None:
    found = choices()
    classes = [builders.pod_class(cpu=each) for each in range(1, 20)]

    calls = calls_of(lambda: [found.choices(Product.OURS, GROUPS, each) for each in classes])

    assert len(NAMES) == calls[JUDGED]


def test_classes_that_select_other_flavors_are_judged_apart() -> None:
    found, anywhere = choices(), builders.pod_class(cpu=1)
    small = replace(anywhere, node_selector=(("size", "small"),))

    names = [
        [dict(choice.flavors)["cpu"] for choice in found.choices(Product.OURS, GROUPS, each)[0]]
        for each in (anywhere, small, anywhere)
    ]

    assert [["small", "large"], ["small"], ["small", "large"]] == names


def test_flavors_that_members_have_are_kept_apart_from_a_free_choice() -> None:
    found, some = choices(), builders.pod_class(cpu=1)

    free, _ = found.choices(Product.OURS, GROUPS, some)
    kept, _ = found.choices(Product.OURS, GROUPS, some, [("cpu", "large")])

    assert (2, 1) == (len(free), len(kept))
