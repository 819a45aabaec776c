"""Which leaf a name means, and which of three things is wrong with one that means none."""

from dataclasses import replace

import pytest

from gang_scheduler.model.causes.queues import (
    LocalQueueStopped,
    QueueDefault,
    QueueFault,
    QueueNotNamed,
    QueueUnusable,
)
from gang_scheduler.model.queues import (
    NONE,
    LocalQueueKey,
    LocalQueueWeight,
    Product,
    QueueKind,
    QueueRef,
)
from gang_scheduler.model.reasons import Cause, Problem, Reason
from gang_scheduler.model.refs import QueueName, QueueNameKind
from gang_scheduler.model.rules import QueueRules
from gang_scheduler.state.queues.names import NamedLeaf, QueueNames, annotation_of
from support.builders import requirement
from support.declared_queues import Declared, declared
from support.queue_builders import cluster_queue, cq_ref, our_queue, queue_ref, volcano_queue

HERE = "default"
OURS, LOCAL, VOLCANOS = QueueNameKind
NOT_FOR_NAMESPACE = QueueFault.NOT_FOR_NAMESPACE


def some() -> Declared:
    """Return queues of all products, some of which are not to be used."""
    found = declared(
        our_queue("a", 1),
        our_queue("parent", 1),
        our_queue("child", 1, parent="parent"),
        our_queue("theirs", 1, namespaces=(requirement("team", "In", "x"),)),
        our_queue("nobodys", 1, namespaces=None),
        cluster_queue("c", nominal=1),
        volcano_queue("v", 1),
    )
    found.local("l", "c")
    found.local("lost", "gone")
    found.local("held", "c", stopped=True)
    return found


def unusable(kind: str, name: str, fault: QueueFault) -> Problem:
    return Problem(Reason.QUEUE_NOT_FOUND, QueueUnusable(name, fault, kind, HERE))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (OURS, "a", queue_ref("a")),
        (OURS, "child", queue_ref("child")),
        (OURS, "none", NONE),
        (LOCAL, "l", cq_ref("c")),
        (VOLCANOS, "v", QueueRef(QueueKind.VOLCANO_QUEUE, "v")),
    ],
)
def test_a_name_means_a_leaf(kind: QueueNameKind, name: str, expected: QueueRef) -> None:
    assert NamedLeaf(expected) == some().names().leaf_of(QueueName(kind, name), HERE)


@pytest.mark.parametrize(
    ("kind", "name", "shown", "fault"),
    [
        (OURS, "typo", ("Queue", "typo"), QueueFault.NOT_FOUND),
        (OURS, "c", ("Queue", "c"), QueueFault.NOT_FOUND),
        (OURS, "root", ("Queue", "root"), QueueFault.NO_LEAF),
        (OURS, "parent", ("Queue", "parent"), QueueFault.NO_LEAF),
        (OURS, "theirs", ("Queue", "theirs"), QueueFault.NOT_FOR_NAMESPACE),
        (OURS, "nobodys", ("Queue", "nobodys"), QueueFault.NOT_FOR_NAMESPACE),
        (LOCAL, "c", ("LocalQueue", "c"), QueueFault.NOT_FOUND),
        (LOCAL, "lost", ("ClusterQueue", "gone"), QueueFault.NOT_FOUND),
        (VOLCANOS, "a", ("VolcanoQueue", "a"), QueueFault.NOT_FOUND),
    ],
)
def test_faults_of_a_name_are_reported(
    kind: QueueNameKind, name: str, shown: tuple[str, str], fault: QueueFault
) -> None:
    found = some().names().leaf_of(QueueName(kind, name), HERE)

    assert unusable(*shown, fault) == found.problem


@pytest.mark.parametrize(
    ("kind", "name"), [(LOCAL, "typo"), (LOCAL, "lost"), (VOLCANOS, "typo"), (VOLCANOS, "parent")]
)
def test_a_name_that_another_controller_judges_is_never_wrong(
    kind: QueueNameKind, name: str
) -> None:
    queues = declared(volcano_queue("parent", 1), volcano_queue("v", 1, parent="parent"))
    queues.local("lost", "gone")
    assert queues.set is not None
    queues.set = replace(queues.set, enforced=frozenset({Product.OURS}))

    assert NamedLeaf(NONE) == queues.names().leaf_of(QueueName(kind, name), HERE)


def test_a_queue_for_some_namespaces_is_for_those() -> None:
    queues = some()
    queues.namespace("x", team="x")

    assert NamedLeaf(queue_ref("theirs")) == queues.names().leaf_of(QueueName(OURS, "theirs"), "x")


def test_a_local_queue_leads_to_no_cluster_queue_that_is_not_for_its_namespace() -> None:
    queues = declared(
        replace(cluster_queue("theirs", nominal=1), namespaces=(requirement("team", "In", "x"),))
    )
    queues.local("l", "theirs")
    name, problem = QueueName(LOCAL, "l"), unusable("ClusterQueue", "theirs", NOT_FOR_NAMESPACE)

    assert NamedLeaf(cq_ref("theirs"), problem) == queues.names().leaf_of(name, HERE)
    assert not queues.names().is_for(cq_ref("theirs"), HERE)
    queues.namespace(HERE, team="x")
    assert NamedLeaf(cq_ref("theirs")) == queues.names().leaf_of(name, HERE)
    assert queues.names().is_for(cq_ref("theirs"), HERE)


def test_a_local_queue_that_is_stopped_takes_no_gangs_and_is_charged() -> None:
    cause: Cause = LocalQueueStopped("held")

    expected = NamedLeaf(cq_ref("c"), Problem(Reason.QUEUE_STOPPED, cause))
    assert expected == some().names().leaf_of(QueueName(LOCAL, "held"), HERE)


def test_a_local_queue_is_kept_where_they_decide_about_the_order() -> None:
    queues = declared(
        replace(cluster_queue("fair", nominal=1), by_local_usage=True),
        cluster_queue("c", nominal=1),
    )
    queues.local("l", "fair")
    queues.local("m", "c")
    queues.local("held", "fair", stopped=True)

    found = [queues.names().leaf_of(QueueName(LOCAL, name), HERE).local for name in ("l", "m")]

    assert [LocalQueueWeight(LocalQueueKey(HERE, "l")), None] == found
    assert queues.names().leaf_of(QueueName(LOCAL, "held"), HERE).local is not None


def test_the_first_default_that_there_is_wins() -> None:
    queues, rules = some(), QueueRules(default_queue="child")
    found = [queues.names().default(HERE).ref, queues.names(rules).default(HERE).ref]
    queues.local("default", "c")
    found.append(queues.names(rules).default(HERE).ref)
    queues.namespace(HERE, default_queue="a")
    found.append(queues.names(rules).default(HERE).ref)

    assert [NONE, queue_ref("child"), cq_ref("c"), queue_ref("a")] == found


def test_a_default_that_does_not_exist_is_not_passed_over() -> None:
    queues = some()
    queues.namespace(HERE, default_queue="typo")

    found = queues.names().default(HERE)

    cause = QueueUnusable("typo", QueueFault.NOT_FOUND, "Queue", HERE, QueueDefault.OF_NAMESPACE)
    assert Problem(Reason.QUEUE_NOT_FOUND, cause) == found.problem


def test_a_default_by_the_settings_that_is_not_for_the_namespace_is_reported_as_such() -> None:
    found = some().names(QueueRules(default_queue="theirs")).default(HERE)

    fault, default = QueueFault.NOT_FOR_NAMESPACE, QueueDefault.OF_SETTINGS
    cause = QueueUnusable("theirs", fault, "Queue", HERE, default)
    assert NamedLeaf(queue_ref("theirs"), Problem(Reason.QUEUE_NOT_FOUND, cause)) == found


def test_a_default_of_a_product_that_another_controller_judges_is_none() -> None:
    queues = declared()
    queues.local("default", "c")
    queues.judged = frozenset({Product.OURS})

    assert NamedLeaf(NONE) == queues.names().default(HERE)


@pytest.mark.parametrize(
    ("required", "waits"), [(set(), False), ({"other"}, False), ({HERE}, True), ({"*"}, True)]
)
def test_a_queue_may_be_required(required: set[str], waits: bool) -> None:  # noqa: FBT001
    names = some().names(QueueRules(require_queue=tuple(required)))
    problem = Problem(Reason.QUEUE_NOT_FOUND, QueueNotNamed(HERE)) if waits else None

    found = [names.default(HERE), names.leaf_of(QueueName(OURS, "none"), HERE)]

    assert [NamedLeaf(NONE, problem)] * 2 == found


def test_what_a_binding_wrote_is_read() -> None:
    names = some().names()
    refs = [queue_ref("a"), NONE, cq_ref("c"), QueueRef(QueueKind.VOLCANO_QUEUE, "v")]

    assert refs == [names.written(annotation_of(ref)) for ref in refs]
    assert ["a", "none", "ClusterQueue/c", "VolcanoQueue/v"] == [*map(annotation_of, refs)]


def test_a_plain_name_is_that_of_the_first_product_that_has_it() -> None:
    names = some().names()

    assert (cq_ref("c"), None) == (names.written("c"), names.written("gone"))


def test_without_queues_none_is_in_use() -> None:
    assert (False, True) == (QueueNames().in_use, some().names().in_use)
