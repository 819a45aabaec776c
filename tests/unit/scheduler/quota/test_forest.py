"""What fits into queues: cases of Kueue and of our own objects, worked by hand."""

from fractions import Fraction

import pytest

from gang_scheduler.model.queues import NONE, ROOT, FlavorResource, Product, QueueRef
from gang_scheduler.model.reasons import Reason
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.quota.promises import UNBOUNDED
from support.queue_builders import (
    CPU,
    cluster_queue,
    cohort,
    cohort_ref,
    cq_ref,
    forest_of,
    our_queue,
    queue_ref,
    volcano_queue,
)

ALPHA, BETA = cq_ref("alpha"), cq_ref("beta")
A, B, C = queue_ref("a"), queue_ref("b"), queue_ref("c")


def engineers() -> Forest:
    return forest_of(
        [
            cluster_queue("alpha", "eng", 50, borrowing=50),
            cluster_queue("beta", "eng", 50, borrowing=10),
        ]
    )


def fitting(forest: Forest, ref: QueueRef, *, above: int = 0) -> int:
    """Return the largest amount of CPU that fits, found by trying."""
    asked = above
    while forest.fits(ref, {CPU: asked + 1}):
        asked += 1
    return asked


def test_what_an_earlier_turn_took_is_gone() -> None:
    forest = engineers()

    forest.charge(ALPHA, {CPU: 45})

    assert 55 == forest.available(BETA, CPU)
    assert not forest.fits(BETA, {CPU: 56})


def test_a_queue_borrows_exactly_what_is_left() -> None:
    forest = engineers()
    forest.charge(ALPHA, {CPU: 45})

    assert forest.fits(BETA, {CPU: 55})
    assert forest.borrows(BETA, {CPU: 55})
    assert not forest.borrows(ALPHA, {CPU: 5})


def test_more_than_the_borrowing_limit_never_fits() -> None:
    assert 60 == engineers().potential(BETA, CPU)
    assert 100 == engineers().potential(ALPHA, CPU)


def test_what_is_beyond_the_lending_limit_is_not_lent() -> None:
    lend_a = cluster_queue("lend-a", "lend", 3, lending=2)
    lend_b = cluster_queue("lend-b", "lend", 2, lending=2)

    forest = forest_of([lend_a, lend_b], {cq_ref("lend-b"): 2})

    assert 2 == fitting(forest, cq_ref("lend-b"))
    assert 3 == fitting(forest, cq_ref("lend-a"))


def test_a_lending_limit_holds_in_a_hierarchy() -> None:
    queues = [
        cohort("root"),
        cohort("child", "root"),
        cluster_queue("lender", "child", 10, lending=3),
        cluster_queue("borrower", "child", 5, borrowing=10),
    ]

    forest = forest_of(queues, {cq_ref("borrower"): 5})

    assert 3 == fitting(forest, cq_ref("borrower"))


def test_a_cluster_queue_without_a_cohort_borrows_nothing() -> None:
    forest = forest_of([cluster_queue("q", nominal=10)], {cq_ref("q"): 4})

    assert 6 == forest.available(cq_ref("q"), CPU)
    assert 10 == forest.potential(cq_ref("q"), CPU)


def test_two_queues_borrow_different_resources_of_one_flavor() -> None:
    r1, r2 = FlavorResource("default", "r1"), FlavorResource("default", "r2")
    nominal = {r1: 10, r2: 10}
    forest = forest_of([cluster_queue(name, "co", nominal, borrowing=10) for name in "abc"])

    forest.charge(cq_ref("a"), {r1: 16})

    assert forest.fits(cq_ref("b"), {r2: 16})
    assert 14 == forest.available(cq_ref("b"), r1)


def test_what_is_guaranteed_is_not_lent() -> None:
    queues = [
        our_queue("root", 12),
        our_queue("a", 6, guaranteed=4),
        our_queue("b", 6, borrowing=True),
    ]

    forest = forest_of(queues)

    assert 8 == forest.potential(B, CPU)
    shortage = forest.exceeds_potential(B, {CPU: 9})
    assert shortage is not None
    assert (CPU, 9, 8) == shortage[:3]
    forest.charge(B, {CPU: 8})
    assert 4 == fitting(forest, A)


def test_soft_is_the_promise_and_hard_the_limit() -> None:
    queues = [our_queue("root", 12), our_queue("a", 4, hard=6, borrowing=True), our_queue("b", 8)]

    forest = forest_of(queues)

    assert 6 == forest.potential(A, CPU)
    assert forest.fits(A, {CPU: 6})
    assert forest.borrows(A, {CPU: 6})
    assert 8 == forest.potential(B, CPU)


def test_only_named_queues_lend_to_a_queue() -> None:
    queues = [
        our_queue("root", 18),
        our_queue("a", 4, borrowing=True, lenders=frozenset({"b"})),
        our_queue("b", 4),
        our_queue("c", 10),
    ]

    forest = forest_of(queues, {B: 2})

    assert 6 == forest.available(A, CPU)
    assert 8 == forest.potential(A, CPU)


def test_a_subtree_that_a_queue_is_in_may_lend_to_it() -> None:
    queues = [
        our_queue("root", 18),
        our_queue("a", 4, borrowing=True, lenders=frozenset({"root"})),
        our_queue("b", 4),
    ]
    forest = forest_of(queues, {B: 2})

    forest.charge(A, {CPU: 10})

    assert 6 == forest.available(A, CPU)


def test_the_limit_of_a_parent_caps_its_children() -> None:
    queues = [
        our_queue("root", 40),
        our_queue("p", 8, hard=10, borrowing=True),
        our_queue("c1", 4, parent="p", borrowing=True),
        our_queue("c2", 4, parent="p", borrowing=True),
        our_queue("o", 30),
    ]
    forest = forest_of(queues)

    forest.charge(queue_ref("c2"), {CPU: 5})

    assert 5 == forest.available(queue_ref("c1"), CPU)
    assert 10 == forest.potential(queue_ref("c1"), CPU)
    assert (5, 5) == (forest.used(queue_ref("p"), CPU), forest.total(queue_ref("p"), CPU))


def test_a_ratio_says_how_much_is_borrowed() -> None:
    forest = forest_of([our_queue("root", 40), our_queue("a", 5, borrowing=0.5)])

    assert 7 == forest.potential(A, CPU)


def test_the_root_lends_what_the_nodes_have_beyond_all_promises() -> None:
    forest = forest_of([our_queue("a", 4, borrowing=True), our_queue("b", 600)])

    assert 1000 == forest.available(A, CPU)
    assert 600 == forest.available(B, CPU)
    forest.charge(B, {CPU: 600})
    assert 400 == forest.available(A, CPU)


def test_gangs_without_a_queue_borrow_whatever_is_idle() -> None:
    forest = forest_of([our_queue("a", 400)], {A: 100})

    assert 900 == forest.available(NONE, CPU)
    assert forest.borrows(NONE, {CPU: 1})
    assert forest.problem(NONE) is None


def test_a_resource_that_nobody_governs_is_neither_limited_nor_charged() -> None:
    memory = FlavorResource("default", "memory")
    forest = forest_of([our_queue("root", 12), our_queue("a", 6)])

    forest.charge(A, {memory: 99})

    assert forest.fits(A, {memory: 99})
    assert UNBOUNDED == forest.available(A, memory)
    assert forest.potential(A, memory) is None
    assert 0 == forest.total(A, memory)
    assert not forest.borrows(A, {memory: 1})


def test_what_a_cluster_queue_does_not_cover_never_runs() -> None:
    gpu = FlavorResource("default", "nvidia.com/gpu")
    forest = forest_of([cluster_queue("q", nominal=10)])

    assert forest.fits(cq_ref("q"), {CPU: 1, gpu: 0})
    shortage = forest.exceeds_potential(cq_ref("q"), {CPU: 1, gpu: 1})
    assert shortage is not None
    assert (gpu, 1, 0) == shortage[:3]
    assert not forest.fits(cq_ref("q"), {gpu: 1})


def test_quota_that_was_cut_lets_nothing_in() -> None:
    forest = forest_of([our_queue("root", 10), our_queue("a", 4)], {A: 7})

    assert -3 == forest.available(A, CPU)
    assert not forest.fits(A, {CPU: 1})
    assert forest.fits(A, {CPU: 0})


def test_a_shortage_names_those_that_borrow_most() -> None:
    queues = [our_queue("root", 20), *(our_queue(name, 4, borrowing=True) for name in "abcde")]
    running = {A: 4, B: 5, C: 6, queue_ref("d"): 5}
    forest = forest_of(queues, running)

    shortage = forest.shortage(queue_ref("e"), {CPU: 4})

    assert shortage is not None
    assert (CPU, 4, 0, (C, B, queue_ref("d"))) == tuple(shortage)
    forest.release(C, {CPU: 6})
    assert forest.shortage(queue_ref("e"), {CPU: 4}) is None


def test_a_queue_is_not_named_as_the_one_that_borrows_from_itself() -> None:
    queues = [our_queue("root", 8), our_queue("a", 4, borrowing=True), our_queue("b", 4)]
    forest = forest_of(queues, {A: 8})

    shortage = forest.shortage(A, {CPU: 1})

    assert shortage is not None
    assert () == shortage.borrowers


def test_no_queue_is_named_where_the_queue_has_used_up_its_own() -> None:
    queues = [our_queue("root", 12), our_queue("a", 4), our_queue("b", 4, borrowing=True)]
    forest = forest_of(queues, {A: 4, B: 8})

    shortage = forest.shortage(A, {CPU: 2})

    assert shortage is not None
    assert () == shortage.borrowers


def test_only_borrowers_below_the_queue_that_is_full_are_named() -> None:
    beside = [our_queue("q", 4), our_queue("c", 2, borrowing=True, parent="q")]
    below = [our_queue(name, 2, borrowing=True, parent="p") for name in "ab"]
    forest = forest_of([our_queue("root", 8), our_queue("p", 4), *below, *beside], {B: 4, C: 4})

    shortage = forest.shortage(A, {CPU: 1})

    assert shortage is not None
    assert (B,) == shortage.borrowers


def test_a_release_is_the_opposite_of_a_charge() -> None:
    queues = [our_queue("root", 20), our_queue("p", 9), our_queue("a", 4, guaranteed=3, parent="p")]
    forest = forest_of(queues, {A: 2})
    before = [forest.used(ref, CPU) for ref in (ROOT, queue_ref("p"), A)]

    forest.charge(A, {CPU: 5})
    over = [forest.used(ref, CPU) for ref in (ROOT, queue_ref("p"), A)]
    forest.release(A, {CPU: 5})

    assert [0, 0, 2] == before
    assert [4, 4, 7] == over
    assert before == [forest.used(ref, CPU) for ref in (ROOT, queue_ref("p"), A)]


def test_a_copy_is_charged_apart() -> None:
    forest = engineers()
    copied = forest.copy()

    copied.charge(ALPHA, {CPU: 50})

    assert (0, 50) == (forest.used(ALPHA, CPU), copied.used(ALPHA, CPU))


def test_what_runs_in_a_queue_that_has_become_interior_counts() -> None:
    queues = [our_queue("root", 20), our_queue("p", 9), our_queue("a", 9, parent="p")]

    forest = forest_of(queues, {queue_ref("p"): 4})

    assert (4, 4) == (forest.used(queue_ref("p"), CPU), forest.total(queue_ref("p"), CPU))
    assert 5 == forest.available(A, CPU)


def test_a_queue_that_is_absent_or_interior_takes_no_gangs() -> None:
    forest = forest_of([our_queue("p", 4), our_queue("a", 4, parent="p"), cohort("co")])

    absent, interior = forest.problem(queue_ref("x")), forest.problem(queue_ref("p"))

    assert absent is not None
    assert interior is not None
    assert [Reason.QUEUE_NOT_FOUND] * 2 == [absent.reason, interior.reason]
    assert absent.cause != interior.cause
    assert forest.problem(ROOT) is not None
    assert forest.problem(cohort_ref("co")) is not None
    assert forest.is_leaf(A)
    assert not forest.is_leaf(queue_ref("p"))


def test_nothing_fits_into_a_queue_that_is_absent() -> None:
    forest = engineers()
    absent = queue_ref("x")

    forest.charge(absent, {CPU: 1})

    assert not forest.fits(absent, {CPU: 1})
    assert 0 == forest.available(absent, CPU) == forest.potential(absent, CPU)
    assert forest.shortage(absent, {CPU: 1}) == forest.exceeds_potential(absent, {CPU: 1})


def test_running_gangs_of_an_invalid_queue_count() -> None:
    queues = [
        our_queue("root", 20),
        our_queue("a", 4, guaranteed=5),
        our_queue("b", borrowing=True),
    ]

    forest = forest_of(queues, {A: 7})

    problem = forest.problem(A)
    assert problem is not None
    assert Reason.QUEUE_STOPPED is problem.reason
    assert 13 == forest.available(B, CPU)


def test_trees_do_not_lend_to_each_other() -> None:
    queues = [our_queue("a", 4), cluster_queue("a", nominal=6), volcano_queue("a", 8)]

    forest = forest_of(queues)

    assert 6 == forest.available(cq_ref("a"), CPU)
    assert 1000 == forest.available(volcano_queue("a").ref, CPU)
    assert 4 == forest.available(A, CPU)


def test_a_tree_that_is_not_enforced_is_charged_and_refuses_nothing() -> None:
    queues = [cluster_queue("alpha", nominal=4), cluster_queue("beta", weight=Fraction(-1))]
    forest = forest_of(queues, enforced=frozenset({Product.OURS}))

    forest.charge(ALPHA, {CPU: 9})

    assert forest.fits(ALPHA, {CPU: 9})
    assert forest.exceeds_potential(ALPHA, {CPU: 9}) is None
    assert 9 == forest.total(ALPHA, CPU)
    assert forest.problem(BETA) is None
    assert forest.problem(cq_ref("x")) is not None


@pytest.mark.parametrize("ref", [A, ROOT, NONE])
def test_the_way_of_a_queue_ends_at_the_root(ref: QueueRef) -> None:
    path = forest_of([our_queue("a", 4)]).path(ref)

    assert (ref, ROOT) == (path[0].ref, path[-1].ref)
