"""What queues are promised, from the leaves up."""

from dataclasses import replace

import pytest

from gang_scheduler.decode.queues import volcano
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import Queue, QueueRef
from gang_scheduler.scheduler.quota.promises import UNBOUNDED, promises_of
from support.queue_builders import (
    BIG,
    CPU,
    cluster_queue,
    cohort,
    cohort_ref,
    our_queue,
    queue_ref,
    queue_set,
)


def terms_of(queues: list[Queue], ref: QueueRef) -> dict[str, int]:
    promises = promises_of(queue_set(queues), NodeTable([BIG]))
    terms, row = promises.terms[CPU], promises.trees.rows[ref]
    return {
        "N": terms.nominal[row],
        "C": terms.promised[row],
        "G": terms.guaranteed[row],
        "B": terms.borrowing[row],
        "L": terms.limit[row],
        "P": terms.pool[row],
    }


def test_a_parent_has_a_pool_beside_what_its_children_were_promised() -> None:
    queues = [our_queue("p", 10), our_queue("a", 4, guaranteed=3, parent="p")]

    terms = terms_of(queues, queue_ref("p"))

    assert {"N": 7, "C": 10, "G": 0, "B": 0, "L": UNBOUNDED, "P": 6} == terms


def test_a_parent_without_soft_has_what_its_children_were_promised() -> None:
    queues = [our_queue("p", hard=10, borrowing=True), our_queue("a", 4, parent="p")]

    terms = terms_of(queues, queue_ref("p"))

    assert {"N": 4, "C": 4, "G": 0, "B": UNBOUNDED, "L": 10, "P": 0} == terms


def test_a_parent_that_was_promised_less_is_oversubscribed() -> None:
    queues = [our_queue("p", 10), our_queue("a", 12, parent="p")]
    promises = promises_of(queue_set(queues), NodeTable([BIG]))

    assert {"N": 12, "C": 12, "G": 0, "B": 0, "L": UNBOUNDED, "P": 0} == terms_of(
        queues, queue_ref("p")
    )
    assert {promises.trees.rows[queue_ref("p")]: 10} == promises.terms[CPU].oversubscribed


def test_the_guarantee_of_a_parent_is_no_more_than_it_could_lend() -> None:
    queues = [
        our_queue("p", 10, guaranteed=8),
        our_queue("a", 10, guaranteed=5, parent="p"),
    ]

    terms = terms_of(queues, queue_ref("p"))

    assert (5, 5) == (terms["N"], terms["G"])


def guaranteeing(
    name: str, guarantee: int | None, deserved: int | None = None, *, parent: str = "root"
) -> Queue:
    """Return a Queue of Volcano, as it is read from an object with these fields."""
    resources = {"guarantee": {"resource": {"cpu": f"{guarantee}m"}}} if guarantee else {}
    deserves = {} if deserved is None else {"deserved": {"cpu": f"{deserved}m"}}
    body = {
        "metadata": {"name": name, "uid": name},
        "spec": {"parent": parent, **resources, **deserves},
    }
    return volcano.queue(body).queue


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        # A guarantee of a queue without children, and of one with some that are promised nothing.
        ([("org", 4, None)], (4, 4, 4, 0)),
        ([("org", 4, None), ("team", None, None)], (4, 4, 4, 4)),
        # It includes what those below are guaranteed, and what they are promised.
        ([("org", 4, None), ("team", 3, None)], (1, 4, 1, 1)),
        ([("org", 4, None), ("team", None, 3)], (4, 4, 4, 1)),
        ([("org", 4, None), ("team", 2, 5)], (3, 5, 2, 0)),
        ([("org", 2, None), ("team", 3, None)], (0, 3, 0, 0)),
        # It counts instead of less that is deserved, and is a part of more.
        ([("org", 4, 2), ("team", None, None)], (4, 4, 4, 4)),
        ([("org", 4, 6), ("team", None, 1)], (6, 6, 4, 5)),
    ],
)
def test_the_guarantee_of_a_volcano_queue_holds_for_all_below_it(
    queues: list[tuple[str, int | None, int | None]], expected: tuple[int, ...]
) -> None:
    org, *teams = (guaranteeing(*each) for each in queues)
    below = [replace(each, parent=org.ref) for each in teams]

    terms = terms_of([org, *below], org.ref)

    assert expected == tuple(terms[each] for each in "NCGP")


def test_a_guarantee_alone_oversubscribes_no_volcano_queue() -> None:
    org = guaranteeing("org", 2)
    queues = [org, guaranteeing("team", 3, parent="org")]

    promises = promises_of(queue_set(queues), NodeTable([BIG]))

    assert {} == promises.terms[CPU].oversubscribed


def test_the_lending_limit_of_a_cohort_is_by_all_that_it_could_lend() -> None:
    pool = cohort("co", "root", 4)
    quotas = {CPU: pool.quotas[CPU].__class__(4, lending_limit=3)}
    queues = [Queue(pool.ref, parent=pool.parent, quotas=quotas), cluster_queue("q", "co", 6)]

    terms = terms_of(queues, cohort_ref("co"))

    assert (10, 10, 7, 4) == (terms["N"], terms["C"], terms["G"], terms["P"])


def test_a_root_says_itself_what_it_lends() -> None:
    queues = [our_queue("a", 4)]

    assert 996 == terms_of(queues, queue_ref("root"))["P"]
    assert 8 == terms_of([our_queue("root", 12), *queues], queue_ref("root"))["P"]
    assert 0 == terms_of([our_queue("root", 3), *queues], queue_ref("root"))["P"]


def test_promises_are_made_once_for_a_set_and_nodes() -> None:
    declared, nodes = queue_set([our_queue("a", 4)]), NodeTable([BIG])
    promises = promises_of(declared, nodes)

    assert promises is promises_of(declared, nodes)
    assert promises is not promises_of(declared, NodeTable([BIG]))
