"""What a reference to a queue says."""

from gang_scheduler.model.queues import Product, QueueKind, QueueRef, QueueSet, RecentUsage


def test_a_cluster_queue_and_a_cohort_of_one_name_are_two_queues_of_one_tree() -> None:
    queue = QueueRef(QueueKind.CLUSTER_QUEUE, "team")
    cohort = QueueRef(QueueKind.COHORT, "team")

    assert queue != cohort
    assert ("team", "team") == (str(queue), str(cohort))
    assert queue.product is cohort.product is Product.KUEUE


def test_what_is_derived_from_a_set_is_kept_while_its_basis_is_the_same() -> None:
    declared, basis, made = QueueSet(), object(), [1, 2, 3]

    first = declared.derive("x", (basis,), made.pop)

    assert 3 == first == declared.derive("x", (basis,), made.pop)
    assert 2 == declared.derive("y", (basis,), made.pop)
    assert 1 == declared.derive("x", (object(),), made.pop)


def test_what_was_used_lately_counts_by_half_after_a_half_life() -> None:
    recent = RecentUsage(100, {"cpu": 8000, "memory": 4})

    later = recent.advanced({"cpu": 2000, "pods": 6}, 160, half_life=60)

    assert RecentUsage(160, {"cpu": 5000, "memory": 2, "pods": 3}) == later


def test_what_was_used_long_ago_does_not_count() -> None:
    recent = RecentUsage(100, {"cpu": 8000})

    assert RecentUsage(341, {"cpu": 10}) == recent.advanced({"cpu": 10}, 341, half_life=60)
    assert {"cpu": 500} == recent.advanced({}, 340, half_life=60).amounts
    assert recent == recent.advanced({"cpu": 1}, 90, half_life=60)
