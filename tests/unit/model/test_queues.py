"""What a reference to a queue says."""

from gang_scheduler.model.queues import Product, QueueKind, QueueRef


def test_a_cluster_queue_and_a_cohort_of_one_name_are_two_queues_of_one_tree() -> None:
    queue = QueueRef(QueueKind.CLUSTER_QUEUE, "team")
    cohort = QueueRef(QueueKind.COHORT, "team")

    assert queue != cohort
    assert ("team", "team") == (str(queue), str(cohort))
    assert queue.product is cohort.product is Product.KUEUE
