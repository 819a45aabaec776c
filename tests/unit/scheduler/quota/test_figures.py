"""What is shown of queues: figures that add up."""

from fractions import Fraction

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.queues import NONE, Amounts, FlavorResource, Product, QueueFigures
from gang_scheduler.scheduler.quota.figures import in_proportion
from gang_scheduler.scheduler.quota.forest import Forest
from support.builders import gang_key
from support.queue_builders import (
    CPU,
    cluster_queue,
    cohort,
    cq_ref,
    forest_of,
    our_queue,
    queue_ref,
)

MEMORY = FlavorResource("default", "memory")
DRS = {Product.KUEUE: Fairness.DRS}


def by_name(forest: Forest) -> dict[str, QueueFigures]:
    return {figures.queue.ref.name: figures for figures in forest.figures()}


def cpu(forest: Forest) -> dict[str, Amounts]:
    return {name: figures.amounts[CPU] for name, figures in by_name(forest).items()}


def test_what_one_borrows_the_others_lend() -> None:
    queues = [cohort("all"), *(cluster_queue(name, "all", 4000) for name in "abc")]
    running = {cq_ref("a"): 7000, cq_ref("b"): 3000, cq_ref("c"): 1000}

    forest = forest_of(queues, running, fairness=DRS)

    assert {
        "all": Amounts(12000, 11000, 0, 0, 12000),
        "a": Amounts(4000, 7000, 3000, 0, 7000),
        "b": Amounts(4000, 3000, 0, 1000, 3000),
        "c": Amounts(4000, 1000, 0, 2000, 1000),
    } == cpu(forest)
    assert Fraction(1, 4) == by_name(forest)["a"].share
    assert 0 == by_name(forest)["b"].share
    assert 3 == by_name(forest)["all"].running


def test_lent_parts_are_in_proportion_and_whole() -> None:
    queues = [cohort("all"), *(cluster_queue(name, "all", {MEMORY: 4}) for name in "abc")]
    running = {cq_ref("a"): {MEMORY: 7}, cq_ref("b"): {MEMORY: 3}, cq_ref("c"): {MEMORY: 2}}

    forest = forest_of(queues, running)

    lent = {name: figures.amounts[MEMORY].lent for name, figures in by_name(forest).items()}
    assert {"all": 0, "a": 0, "b": 1, "c": 2} == lent


def test_a_pool_lends_before_siblings_do() -> None:
    queues = [our_queue("root", 14), our_queue("a", 4, borrowing=True), our_queue("b", 6)]

    assert 0 == cpu(forest_of(queues, {queue_ref("a"): 8}))["b"].lent
    assert 2 == cpu(forest_of(queues, {queue_ref("a"): 10}))["b"].lent


def test_what_is_guaranteed_is_not_lent_and_promised_all_the_same() -> None:
    queues = [
        our_queue("root", 12),
        our_queue("a", 6, guaranteed=4),
        our_queue("b", 6, borrowing=True),
    ]

    found = cpu(forest_of(queues, {queue_ref("b"): 8}))

    assert 12 == found["root"].nominal
    assert Amounts(6, 0, 0, 2, 0) == found["a"]
    assert Amounts(6, 8, 2, 0, 8) == found["b"]


def test_the_root_borrows_nothing_and_a_parent_what_it_has_above_its_own() -> None:
    queues = [
        our_queue("root", 40),
        our_queue("p", 8, hard=10, borrowing=True),
        our_queue("c2", 4, parent="p", borrowing=True),
        our_queue("c1", 4, parent="p", borrowing=True),
    ]

    forest = forest_of(queues, {queue_ref("c2"): 9})

    assert (9, 1) == cpu(forest)["p"][1:3]
    assert 0 == cpu(forest)["root"].borrowed


def test_a_fair_share_is_compared_with_what_is_held() -> None:
    queues = [our_queue("root", 10), our_queue("a", 4, borrowing=True), our_queue("b", 4)]

    forest = forest_of(queues, {queue_ref("a"): 8}, asked={queue_ref("b"): 4})

    assert Fraction(8, 6) == by_name(forest)["a"].share
    assert 0 == by_name(forest)["b"].share


def test_a_share_of_nothing_is_infinite() -> None:
    queues = [
        our_queue("root", 10, fairness=Fairness.DRF),
        our_queue("a", 4, weight=Fraction(0)),
        our_queue("b", 4, weight=Fraction(2)),
    ]

    found = by_name(forest_of(queues, {queue_ref("a"): 1, queue_ref("b"): 4}))

    assert found["a"].share is None
    assert Fraction(1, 5) == found["b"].share


def test_what_no_object_declares_is_shown_once_it_is_used() -> None:
    kueue = cluster_queue("q", nominal=4)

    assert ["q"] == list(by_name(forest_of([kueue])))
    assert ["root", "none", "q"] == list(by_name(forest_of([kueue], {NONE: 4})))
    assert ["root", "a"] == list(by_name(forest_of([our_queue("a", 4)])))
    assert ["root"] == list(by_name(forest_of([our_queue("root", 4)])))
    waiting = forest_of([our_queue("a", 4)], asked={NONE: 1})
    assert ["root", "a", "none"] == list(by_name(waiting))


def test_what_the_caller_knows_is_added() -> None:
    forest = forest_of([our_queue("a", 4)], {queue_ref("a"): 1})
    names = (gang_key("x"),)

    found = forest.figures({queue_ref("a"): names}, {queue_ref("a"): 2})

    assert [(), names] == [figures.pending for figures in found]
    assert [3, 3] == [figures.running for figures in found]


def test_a_queue_is_shown_with_what_is_wrong_with_it() -> None:
    queues = [our_queue("p", 4), our_queue("a", 6, parent="p"), our_queue("b", 4, parent="x")]

    found = by_name(forest_of(queues))

    assert [(6, 4)] == list(found["p"].oversubscribed.values())
    assert not found["a"].oversubscribed
    assert found["b"].problem is not None
    assert found["a"].problem is None


def test_nothing_is_split_where_there_are_no_parts() -> None:
    assert [0, 0] == in_proportion(0, [0, 0])
