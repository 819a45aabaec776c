"""Which queue a gang is in, by its object, its members and their Jobs."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.decode.queues import naming
from gang_scheduler.model.causes.queues import (
    GangsQueuesDiffer,
    QueueFault,
    QueueNamesDiffer,
    QueueNotNamed,
    QueueUnusable,
)
from gang_scheduler.model.causes.specs import PriorityClassMissing
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.queues import NONE, Product, QueueRef
from gang_scheduler.model.reasons import Cause, Problem, Reason
from gang_scheduler.model.refs import GangName
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from support.builders import SCHEDULER, gang_key, gang_spec, pod
from support.declared_queues import Declared, declared
from support.gang_queue_builders import KEY, NOW, describe, due, only
from support.queue_builders import cluster_queue, cq_ref, our_queue, queue_ref

OURS = "py-gang-scheduler.io/queue"
KUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
A, B = queue_ref("a"), queue_ref("b")


def some() -> Declared:
    found = declared(our_queue("a", 1), our_queue("b", 1), cluster_queue("c", nominal=1))
    found.local("l", "c")
    found.classes["high"] = 7
    return found


def gangs_in(queues: Declared, rules: QueueRules = NO_SETTINGS.queues) -> GangQueue:
    return GangQueue([SCHEDULER], 600, EvictablePods(), tuple, queues.names(rules))


def said(**labels: str) -> dict[str, str]:
    keys = {"ours": OURS, "kueue": KUEUE, "priority": CLASS}
    return {keys[name]: text for name, text in labels.items()}


def found_for(
    *members: dict[str, str],
    group: dict[str, str] | None = None,
    job: dict[str, str] | None = None,
    queues: Declared | None = None,
    rules: QueueRules = NO_SETTINGS.queues,
) -> Gang:
    """Return the gang of a PodGroup and members with these labels, of a Job with others."""
    gang_queue = gangs_in(queues or some(), rules)
    request = naming.request_of(group or {}, {})
    describe(gang_queue, replace(gang_spec("a", 1), queue_request=request))
    for number, labels in enumerate(members or ({},)):
        gang_queue.upsert_member(KEY, pod(f"a-{number}", gang="a", labels=labels, job="j"))
    if job is not None:
        gang_queue.upsert_workload("uid-j", "uid-j", naming.request_of(job, {}))
    return only(gang_queue)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"group": said(ours="a")}, A),
        ({"group": said(kueue="l")}, cq_ref("c")),
        ({"job": said(ours="b")}, B),
        ({}, NONE),
    ],
)
def test_an_object_names_the_queue(told: dict[str, Any], expected: QueueRef) -> None:
    found = found_for(**told)

    assert (expected, None) == (found.queue, found.problem)


@pytest.mark.parametrize(
    ("members", "group", "expected"),
    [
        ([said(ours="a"), said(ours="a")], {}, A),
        ([said(ours="a"), {}], {}, A),
        ([said(ours="b")], said(ours="a"), A),
    ],
)
def test_members_tell_it_where_their_group_does_not(
    members: list[dict[str, str]], group: dict[str, str], expected: QueueRef
) -> None:
    found = found_for(*members, group=group)

    assert (expected, None) == (found.queue, found.problem)


@pytest.mark.parametrize(
    ("members", "group", "first", "second"),
    [
        ([said(ours="a"), said(ours="b")], {}, ("Queue", "a"), ("Queue", "b")),
        ([said(ours="a", kueue="l")], {}, ("Queue", "a"), ("LocalQueue", "l")),
        ([said(ours="a")], said(kueue="l"), ("Queue", "a"), ("LocalQueue", "l")),
    ],
)
def test_two_names_contradict_each_other(
    members: list[dict[str, str]],
    group: dict[str, str],
    first: tuple[str, str],
    second: tuple[str, str],
) -> None:
    found = found_for(*members, group=group)

    cause: Cause = QueueNamesDiffer(first, second)
    assert (None, Problem(Reason.INVALID_SPEC, cause)) == (found.queue, found.problem)


def test_without_queues_a_gang_that_names_none_is_in_none() -> None:
    found = found_for(queues=declared())

    assert (None, None) == (found.queue, found.problem)


@pytest.mark.parametrize(
    ("labels", "judged", "missing"),
    [
        (said(ours="a"), {Product.OURS}, ("a", "Queue")),
        (said(kueue="l"), {Product.OURS}, None),
        (said(kueue="l"), {Product.OURS, Product.KUEUE}, ("l", "LocalQueue")),
        (said(ours="a", kueue="l"), {Product.OURS}, ("a", "Queue")),
    ],
)
def test_without_queues_a_gang_that_names_one_waits_for_it(
    labels: dict[str, str], judged: set[Product], missing: tuple[str, str] | None
) -> None:
    queues = declared()
    queues.judged = frozenset(judged)

    found = found_for(labels, queues=queues)

    cause = QueueUnusable(missing[0], QueueFault.NOT_FOUND, missing[1], "default") if missing else 0
    assert (None, cause) == (found.queue, found.problem.cause if found.problem else 0)


@pytest.mark.parametrize(
    "rules", [QueueRules(default_queue="gone"), QueueRules(require_queue=("*",))]
)
def test_what_settings_say_of_queues_holds_before_there_are_any(rules: QueueRules) -> None:
    found = found_for(queues=declared(), rules=rules)

    assert found.problem is not None
    assert Reason.QUEUE_NOT_FOUND == found.problem.reason


def test_when_the_last_queue_goes_its_gangs_wait_on() -> None:
    queues = declared(our_queue("a", 1))
    gang_queue = gangs_in(queues)
    request = naming.request_of(said(ours="a"), {})
    describe(gang_queue, replace(gang_spec("a", 1), queue_request=request))
    gang_queue.upsert_member(KEY, pod("a-0", gang="a"))
    before = only(gang_queue)
    Decisions(gang_queue).refused(Refused(before, Reason.WAITING_FOR_QUOTA, before.pending), NOW)
    queues.set = None
    gang_queue.queues_changed()

    after = only(gang_queue).problem
    assert before.problem is None
    assert after is not None
    assert Reason.QUEUE_NOT_FOUND == after.reason


def test_a_gang_that_must_name_a_queue_waits() -> None:
    found = found_for(rules=QueueRules(require_queue=("*",)))

    assert Problem(Reason.QUEUE_NOT_FOUND, QueueNotNamed("default")) == found.problem


@pytest.mark.parametrize(
    ("labels", "priority", "problem"),
    [
        (said(kueue="l", priority="high"), 7, None),
        (said(ours="a", priority="high"), 0, None),
        (said(ours="a", priority="gone"), 0, None),
        (said(priority="high"), 0, None),
        (said(kueue="l", priority="gone"), 0, PriorityClassMissing("gone")),
    ],
)
def test_a_class_gives_the_priority_in_queues_of_kueue_alone(
    labels: dict[str, str], priority: int, problem: Cause | None
) -> None:
    found = found_for(labels)

    assert priority == found.queue_priority
    assert problem == (found.problem.cause if found.problem else None)


def test_a_queue_that_another_controller_judges_refuses_nothing() -> None:
    queues = some()
    queues.local("held", "c", stopped=True)
    assert queues.set is not None
    queues.set = replace(queues.set, enforced=frozenset(Product) - {Product.KUEUE})

    found = found_for(said(kueue="held"), queues=queues)

    assert (cq_ref("c"), None) == (found.queue, found.problem)


def test_the_gangs_of_a_group_must_be_in_one_queue() -> None:
    gang_queue = gangs_in(some())
    for name, other in (("a", "b"), ("b", "a")):
        spec = gang_spec(name, 1, uid=f"uid-{name}", groups=(GangName("default", other),))
        request = naming.request_of(said(ours=name), {})
        describe(gang_queue, replace(spec, queue_request=request))
        gang_queue.upsert_member(gang_key(name), pod(f"{name}-0", gang=name))

    (group,) = gang_queue.take_due(NOW)

    cause = GangsQueuesDiffer((gang_key("a"), gang_key("b")), ("a", "b"))
    assert Problem(Reason.INVALID_SPEC, cause) == group.problem


def test_a_job_that_comes_late_moves_its_gang() -> None:
    gang_queue = gangs_in(some())
    describe(gang_queue, gang_spec("a", 1))
    gang_queue.upsert_member(KEY, pod("a-0", gang="a", job="j"))
    before = only(gang_queue).queue
    gang_queue.upsert_workload("uid-j", "uid-j", naming.request_of(said(ours="b"), {}))
    after = only(gang_queue).queue
    gang_queue.delete_workload("uid-j")

    assert [NONE, B, NONE] == [before, after, only(gang_queue).queue]


def test_a_job_set_tells_it_of_all_its_pods() -> None:
    gang_queue = gangs_in(some())
    describe(gang_queue, gang_spec("a", 1))
    labels = {"jobset.sigs.k8s.io/jobset-name": "s"}
    gang_queue.upsert_member(KEY, pod("a-0", gang="a", job="j", labels=labels))
    gang_queue.upsert_workload("uid-s", "default/s", naming.request_of(said(ours="b"), {}))

    assert B == only(gang_queue).queue


def test_when_queues_change_the_gangs_that_wait_are_found_anew() -> None:
    queues = some()
    gang_queue = gangs_in(queues)
    describe(
        gang_queue,
        replace(gang_spec("a", 1), queue_request=naming.request_of(said(ours="new"), {})),
    )
    gang_queue.upsert_member(KEY, pod("a-0", gang="a"))
    gang = only(gang_queue)
    assert gang.problem is not None
    Decisions(gang_queue).refused(Refused(gang, gang.problem.reason, gang.pending), NOW)
    before = due(gang_queue)
    queues.set = declared(our_queue("new", 1)).set
    gang_queue.queues_changed()

    assert ([], queue_ref("new")) == (before, only(gang_queue).queue)
