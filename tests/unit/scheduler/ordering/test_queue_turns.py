"""Which queue is next, by each fairness: cases worked by hand."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.queues import FlavorResource, Product, Queue, QueueRef
from gang_scheduler.scheduler.ordering.queue_turns import Head, Turns
from gang_scheduler.scheduler.quota.forest import Forest
from support.queue_builders import (
    CPU,
    cluster_queue,
    cohort,
    cq_ref,
    forest_of,
    our_queue,
    queue_ref,
    volcano_queue,
)

DRS = {Product.KUEUE: Fairness.DRS}
MEMORY = FlavorResource("default", "memory")


def head(cpu: int, priority: int = 0, *, age: float = 0, first: bool = False) -> Head:
    return Head({CPU: cpu}, priority, -age, first)


def order(forest: Forest, heads: Mapping[QueueRef, Head]) -> list[str]:
    """Return the queues in the order of turns, each admitted if it fits and then parked."""
    turns = Turns(forest, heads)
    found = []
    while (ref := turns.next()) is not None:
        if forest.fits(ref, heads[ref].charge):
            forest.charge(ref, heads[ref].charge)
            found.append(ref.name)
        turns.replace(ref, None)
    return found


def in_a_pool(amount: int, *names: str, weight: Fraction = Fraction(1)) -> list[Queue]:
    return [
        cohort("pool", nominal=amount),
        *(cluster_queue(n, "pool", weight=weight) for n in names),
    ]


def test_the_lowest_share_is_first() -> None:
    queues = [
        cluster_queue("alpha", "eng", 50, borrowing=50),
        cluster_queue("beta", "eng", 50, borrowing=10),
        cluster_queue("shared", "eng", 10, borrowing=0),
    ]
    forest = forest_of(queues, {cq_ref("alpha"): 50, cq_ref("beta"): 55}, fairness=DRS)

    heads = {cq_ref("beta"): head(1, age=60), cq_ref("alpha"): head(5, age=10)}

    assert ["alpha"] == order(forest, heads)


def test_shares_are_compared_as_they_would_be() -> None:
    forest = forest_of(in_a_pool(100, "b", "c"), {cq_ref("b"): 10}, fairness=DRS)

    assert ["b"] == order(forest, {cq_ref("c"): head(75, age=9), cq_ref("b"): head(50)})


def test_high_weights_do_not_hide_what_is_borrowed() -> None:
    queues = in_a_pool(8, "b", "c", weight=Fraction(123456789))
    forest = forest_of(queues, {cq_ref("b"): 4}, fairness=DRS)

    assert ["c"] == order(forest, {cq_ref("b"): head(4, 9001), cq_ref("c"): head(4)})


def test_equal_shares_go_by_priority_then_age_then_name() -> None:
    def first_of(b: Head, c: Head) -> str:
        forest = forest_of(in_a_pool(10, "b", "c"), fairness=DRS)
        return order(forest, {cq_ref("c"): c, cq_ref("b"): b})[0]

    assert "c" == first_of(head(10, 99), head(10, 101))
    assert "c" == first_of(head(10), head(10, age=5))
    assert "b" == first_of(head(10), head(10))


def test_a_subtree_that_borrows_is_after_one_that_does_not() -> None:
    queues = [
        cohort("root"),
        cohort("co-a", "root", 10),
        cohort("co-b", "root"),
        cluster_queue("cq-a", "co-a"),
        cluster_queue("cq-b", "co-b", 5),
        cluster_queue("cq-c", "co-b"),
    ]
    forest = forest_of(queues, {cq_ref("cq-c"): 10}, fairness=DRS)

    heads = {cq_ref("cq-b"): head(5, age=9), cq_ref("cq-a"): head(5)}

    assert ["cq-a"] == order(forest, heads)


def test_the_fewest_levels_up_come_before_priority() -> None:
    queues = [
        cohort("root"),
        cohort("guaranteed", "root", 4),
        cluster_queue("g", "guaranteed"),
        cluster_queue("best-effort", "root"),
    ]

    heads = {cq_ref("best-effort"): head(4, 3), cq_ref("g"): head(4)}

    assert ["g"] == order(forest_of(queues), heads)


def test_a_line_sees_what_others_were_charged() -> None:
    queues = [*in_a_pool(4, "a", "b", "c"), cluster_queue("own", "pool", 4)]
    forest = forest_of(queues)
    heads = {
        cq_ref("a"): head(3, 9),
        cq_ref("b"): head(3, 8),
        cq_ref("c"): head(1, 7),
        cq_ref("own"): head(4, 1),
    }

    assert ["own", "a", "c"] == order(forest, heads)


def test_dominant_resources_are_equalised() -> None:
    root = our_queue("root", 9, fairness=Fairness.DRF)
    key = {CPU: root.quotas[CPU], MEMORY: root.quotas[CPU].__class__(18, total=True)}
    root = Queue(root.ref, quotas=key, fairness=Fairness.DRF)
    forest = forest_of([root, our_queue("a", borrowing=True), our_queue("b", borrowing=True)])
    wants = {
        queue_ref("a"): Head({CPU: 1, MEMORY: 4}, 0, 0),
        queue_ref("b"): Head({CPU: 3, MEMORY: 1}, 0, 0),
    }
    turns, admitted = Turns(forest, wants), []

    while (ref := turns.next()) is not None:
        fits = forest.fits(ref, wants[ref].charge)
        if fits:
            forest.charge(ref, wants[ref].charge)
            admitted.append(ref.name)
        turns.replace(ref, wants[ref] if fits else None)

    assert (3, 2) == (admitted.count("a"), admitted.count("b"))


def test_the_neediest_is_first() -> None:
    queues = [
        our_queue("root", 40),
        our_queue("p", 8, hard=10, borrowing=True),
        our_queue("c1", 4, parent="p", borrowing=True),
        our_queue("c2", 4, parent="p", borrowing=True),
        our_queue("o", 30),
    ]
    forest = forest_of(queues, asked={queue_ref("c1"): 6, queue_ref("c2"): 9})

    heads = {queue_ref("c1"): head(6, age=99), queue_ref("c2"): head(5)}

    assert ["c2"] == order(forest, heads)


def test_the_priority_of_a_volcano_queue_is_before_its_share() -> None:
    queues = [volcano_queue("a", 4), volcano_queue("b", 4, order=5)]
    a, b = (queue.ref for queue in queues)
    forest = forest_of(queues, asked={a: 4, b: 8})

    assert ["b", "a"] == order(forest, {a: head(2, 9), b: head(8)})


def test_what_was_used_lately_counts_by_half() -> None:
    queues = [our_queue("root", 8), our_queue("a", 4), our_queue("b", 4)]
    heads = {queue_ref("a"): head(4, age=9), queue_ref("b"): head(4)}
    asked = {queue_ref("a"): 4, queue_ref("b"): 4}

    now = forest_of(queues, asked=asked)
    lately = forest_of(queues, asked=asked, recent={queue_ref("a"): {"cpu": 8}})

    assert ["a", "b"] == order(now, heads)
    assert ["b", "a"] == order(lately, heads)


def test_nominations_come_first() -> None:
    forest = forest_of(in_a_pool(10, "b", "c"), fairness=DRS)
    assert "c" == order(forest, {cq_ref("b"): head(1, 9), cq_ref("c"): head(9, first=True)})[0]
    line = forest_of(in_a_pool(10, "b", "c"))
    assert "c" == order(line, {cq_ref("b"): head(1, 9), cq_ref("c"): head(9, first=True)})[0]


@pytest.mark.parametrize("fairness", list(Fairness))
def test_trees_take_turns(fairness: Fairness) -> None:
    queues = [
        our_queue("root", 10, fairness=fairness),
        our_queue("a", 4, borrowing=True),
        our_queue("b", 4),
        cluster_queue("q", nominal=4),
        cluster_queue("r", nominal=4),
    ]
    heads = {
        queue_ref("a"): head(5, 9),
        queue_ref("b"): head(1, 3),
        cq_ref("q"): head(1, 5),
        cq_ref("r"): head(1, 4),
    }
    forest = forest_of(queues, asked={queue_ref("a"): 5, queue_ref("b"): 1})

    assert ["q", "r", "b", "a"] == order(forest, heads)


def test_a_queue_that_is_not_there_has_no_turn() -> None:
    forest = forest_of([our_queue("a", 4)])

    assert Turns(forest, {queue_ref("x"): head(1)}).next() is None


def test_all_are_compared_anew_after_a_release() -> None:
    forest = forest_of(in_a_pool(10, "b", "c"), {cq_ref("b"): 5}, fairness=DRS)
    heads = {cq_ref("b"): head(1), cq_ref("c"): head(2)}
    turns = Turns(forest, heads)
    before = turns.next()

    forest.release(cq_ref("b"), {CPU: 5})
    turns.restart(forest, heads)

    assert (cq_ref("c"), cq_ref("b")) == (before, turns.next())
