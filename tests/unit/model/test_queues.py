"""What a reference to a queue says."""

from gang_scheduler.model.queues import Product, QueueKind, QueueRef, QueueSet


def test_a_cluster_queue_and_a_cohort_of_one_name_are_two_queues_of_one_tree() -> None:
    queue = QueueRef(QueueKind.CLUSTER_QUEUE, "team")
    cohort = QueueRef(QueueKind.COHORT, "team")

    assert queue != cohort
    assert ("team", "team") == (str(queue), str(cohort))
    assert queue.product is cohort.product is Product.KUEUE


def test_what_is_derived_from_a_set_is_kept_while_its_basis_is_the_same() -> None:
    declared, basis, made = QueueSet(), object(), [1, 2, 3]

    first = declared.cached("x", (basis,), made.pop)

    assert 3 == first == declared.cached("x", (basis,), made.pop)
    assert 2 == declared.cached("y", (basis,), made.pop)
    assert 1 == declared.cached("x", (object(),), made.pop)
