"""What is wrong with how queues hang together."""

from fractions import Fraction

import pytest

from gang_scheduler.model.causes.queues import FieldRefused, Inactivity, QueueInactive
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import NONE, FlavorResource, Queue, QueueRef, Quota
from gang_scheduler.model.reasons import Problem, Reason
from support.queue_builders import (
    cluster_queue,
    cohort,
    cq_ref,
    forest_of,
    our_queue,
    queue_ref,
    queue_set,
    volcano_queue,
)

SPOT = FlavorResource("spot", "cpu")


def stopped(name: str, fault: Inactivity, field: str, value: str) -> Problem:
    return Problem(Reason.QUEUE_STOPPED, QueueInactive(name, fault, FieldRefused(field, value)))


@pytest.mark.parametrize(
    ("queue", "fault", "field", "value"),
    [
        (our_queue("a", parent="x"), Inactivity.PARENT_NOT_FOUND, "spec.parent", "x"),
        (our_queue("a", parent="none"), Inactivity.PARENT_NOT_FOUND, "spec.parent", "none"),
        (our_queue("a", parent="a"), Inactivity.CYCLE, "spec.parent", "a"),
        (our_queue("a", 4, key=SPOT), Inactivity.FLAVOR_NOT_FOUND, "spec.flavors", "spot"),
        (
            our_queue("a", 4, guaranteed=5),
            Inactivity.INVALID_SPEC,
            "spec.quota.guaranteed.cpu",
            "5m",
        ),
        (our_queue("a", 4000, hard=3000), Inactivity.INVALID_SPEC, "spec.quota.soft.cpu", "4"),
        (our_queue("a", weight=Fraction(-1)), Inactivity.INVALID_SPEC, "spec.weight", "-1"),
        (our_queue("none", 4), Inactivity.INVALID_SPEC, "metadata.name", "none"),
        (volcano_queue("a", parent="x"), Inactivity.PARENT_NOT_FOUND, "spec.parent", "x"),
    ],
)
def test_an_invalid_queue_is_inactive(
    queue: Queue, fault: Inactivity, field: str, value: str
) -> None:
    forest = forest_of([queue])

    assert stopped(queue.ref.name, fault, field, value) == forest.problem(queue.ref)


def test_what_hangs_below_an_invalid_queue_is_inactive() -> None:
    queues = [
        our_queue("p", parent="x"),
        our_queue("q", parent="p"),
        our_queue("a", parent="q"),
        our_queue("b"),
    ]

    forest = forest_of(queues)

    missing = stopped("p", Inactivity.PARENT_NOT_FOUND, "spec.parent", "x")
    assert missing == forest.problem(queue_ref("a"))
    assert forest.problem(queue_ref("b")) is None


def test_only_the_queues_of_a_cycle_are_in_it() -> None:
    queues = [
        our_queue("a", parent="b"),
        our_queue("b", parent="c"),
        our_queue("c", parent="b"),
        our_queue("d"),
    ]

    forest = forest_of(queues)

    assert stopped("b", Inactivity.CYCLE, "spec.parent", "c") == forest.problem(queue_ref("a"))
    assert forest.problem(queue_ref("d")) is None
    assert forest.problem(NONE) is None


def test_a_cohort_needs_no_object() -> None:
    queues = [cluster_queue("q", "co", 4), cohort("in", "out"), cluster_queue("r", "in", 4)]

    forest = forest_of(queues)

    assert forest.problem(cq_ref("q")) is None
    assert forest.problem(cq_ref("r")) is None


def test_kueue_knows_no_flavor_without_an_object() -> None:
    queue = cluster_queue("q", nominal=4)
    declared = queue_set([queue])

    forest = forest_of([our_queue("a"), Queue(queue.ref, quotas={SPOT: Quota(4)})], flavors=())

    assert ["default"] == [flavor.name for flavor in declared.flavors]
    assert forest.problem(queue.ref) is None


def test_what_is_wrong_with_the_object_itself_comes_first() -> None:
    cause = InvalidInput("spec.weight must be a number")
    queue = our_queue("a", parent="x", problem=Problem(Reason.INVALID_SPEC, cause))

    problem = forest_of([queue]).problem(queue_ref("a"))

    wrong = QueueInactive("a", Inactivity.INVALID_SPEC, cause)
    assert Problem(Reason.QUEUE_STOPPED, wrong) == problem


def test_the_root_hangs_below_nothing() -> None:
    root = Queue(queue_ref("root"), parent=queue_ref("a"))

    forest = forest_of([root, our_queue("b"), Queue(QueueRef(*queue_ref("a")))])

    assert forest.problem(queue_ref("b")) is not None
