"""In which order queues are kept."""

from gang_scheduler.scheduler.quota.trees import Trees, trees_of
from support.queue_builders import cluster_queue, our_queue, queue_set, volcano_queue


def names(trees: Trees) -> list[str]:
    return [queue.ref.name for queue in trees.queues]


def test_trees_come_by_product_and_queues_below_their_parents_by_name() -> None:
    queues = [
        volcano_queue("v"),
        cluster_queue("q", "co", 4),
        our_queue("b"),
        our_queue("c", parent="a"),
        our_queue("a"),
        our_queue("lost", parent="x"),
    ]

    trees = Trees(queue_set(queues))

    ours = ["root", "a", "c", "b", "none", "lost"]
    assert [*ours, "co", "q", "root", "v"] == names(trees)


def test_a_subtree_ends_where_the_next_queue_is_not_below_it() -> None:
    trees = Trees(queue_set([our_queue("a"), our_queue("b", parent="a"), our_queue("c")]))

    ends = {name: trees.ends[row] for row, name in enumerate(names(trees))}

    assert {"root": 5, "a": 3, "b": 3, "c": 4, "none": 5} == ends


def test_the_way_leads_from_the_root() -> None:
    trees = Trees(queue_set([our_queue("a"), our_queue("b", parent="a")]))

    assert (0, 1, 2) == trees.paths[2]


def test_trees_are_made_once_for_a_set() -> None:
    declared = queue_set([our_queue("a")])

    assert trees_of(declared) is trees_of(declared)
