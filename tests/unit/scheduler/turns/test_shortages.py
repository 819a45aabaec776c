"""What a queue would be charged for pods that do not exist yet, or why it does not admit them."""

import pytest

from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.queues import (
    Charge,
    Flavor,
    FlavorResource,
    Product,
    Queue,
    QueueRef,
    ResourceGroup,
)
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.report.words.text import text_of
from gang_scheduler.scheduler.turns import shortages
from support.queue_builders import CPU, cluster_queue, cq_ref, forest_of, our_queue, queue_ref

A, B = FlavorResource("a", "cpu"), FlavorResource("b", "cpu")
FLAVORS = (Flavor(Product.KUEUE, "a"), Flavor(Product.KUEUE, "b"))
GROUPS = (ResourceGroup(("cpu",), ("a", "b")),)


def found(
    queue: Queue, needed: dict[str, int], used: int = 0, ref: QueueRef | None = None
) -> Charge | Problem:
    forest = forest_of([queue], {queue.ref: used} if used else {}, flavors=FLAVORS)
    declared = forest.accounts.declared
    return shortages.charge_of(forest, declared, ref or queue.ref, tuple(needed.items()))


def refused(*args: object, **fields: object) -> tuple[Reason, str]:
    why = found(*args, **fields)  # type: ignore[arg-type]
    assert isinstance(why, Problem)
    return why.reason, text_of(why.cause)


def test_what_is_free_is_charged() -> None:
    assert {CPU: 600} == found(our_queue("q", hard=1000), {"cpu": 600}, used=400)


def test_what_no_number_limits_is_charged_nothing() -> None:
    assert {} == found(our_queue("q", hard=1000), {"memory": 5})


def test_what_is_not_free_now_is_waited_for() -> None:
    reason, text = refused(our_queue("q", hard=1000), {"cpu": 601}, used=400)

    assert reason is Reason.WAITING_FOR_QUOTA
    assert "600m" in text or "0.6" in text or "600" in text


def test_what_never_fits_is_reported_as_that() -> None:
    reason, _ = refused(our_queue("q", hard=1000), {"cpu": 1001})

    assert reason is Reason.QUOTA_EXCEEDED


def test_of_each_resource_the_first_flavor_with_room_is_taken() -> None:
    queue = cluster_queue("q", nominal={A: 100, B: 500}, resource_groups=GROUPS)

    assert {A: 100} == found(queue, {"cpu": 100})
    assert {B: 200} == found(queue, {"cpu": 200})


def test_a_flavor_that_could_never_do_is_not_what_is_waited_for() -> None:
    queue = cluster_queue("q", nominal={A: 100, B: 500}, resource_groups=GROUPS)
    forest = forest_of([queue], {queue.ref: {B: 400}}, flavors=FLAVORS)

    why = shortages.charge_of(forest, forest.accounts.declared, queue.ref, (("cpu", 200),))

    assert isinstance(why, Problem)
    assert why.reason is Reason.WAITING_FOR_QUOTA


def test_what_a_cluster_queue_does_not_cover_is_never_there() -> None:
    queue = cluster_queue("q", nominal={A: 100}, resource_groups=(ResourceGroup(("cpu",), ("a",)),))

    assert refused(queue, {"memory": 1})[0] is Reason.QUOTA_EXCEEDED


@pytest.mark.parametrize(
    ("queue", "ref", "reason"),
    [
        (our_queue("q", hard=1, stop=StopPolicy.HOLD), queue_ref("q"), Reason.QUEUE_STOPPED),
        (our_queue("q", hard=1), queue_ref("other"), Reason.QUEUE_NOT_FOUND),
        (cluster_queue("q", nominal=1), cq_ref("other"), Reason.QUEUE_NOT_FOUND),
    ],
)
def test_a_queue_that_takes_nothing_admits_nothing(
    queue: Queue, ref: QueueRef, reason: Reason
) -> None:
    assert reason is refused(queue, {}, ref=ref)[0]
