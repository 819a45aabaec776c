"""A queue that cannot be read is there, and inactive."""

from typing import Any

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import declared, ours
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.reasons import Problem, Reason

WHY = InvalidField("spec.weight", "x", "must be a number")


def body(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": "u"}, "spec": spec}


def holds(obj: dict[str, Any], known: DeclaredQueue | None = None) -> DeclaredQueue | None:
    return declared.unreadable_queue(QueueKind.QUEUE, QUEUES)(obj, WHY, known)


def test_it_keeps_its_name_and_has_the_problem() -> None:
    found = holds(body("a", weight="x"))

    assert found is not None
    assert (QueueRef(QueueKind.QUEUE, "a"), "u", {}) == (
        found.queue.ref,
        found.uid,
        found.queue.quotas,
    )
    expected = InvalidInput('spec.weight must be a number, not "x"')
    assert Problem(Reason.INVALID_SPEC, expected) == found.queue.problem


def test_it_keeps_its_place_and_not_its_quota() -> None:
    known = ours.queue(body("a", parent="org", quota={"soft": {"cpu": 1}}))
    found = holds(body("a", weight="x"), known)

    assert found is not None
    assert (known.queue.parent, {}) == (found.queue.parent, found.queue.quotas)


def test_nothing_holds_of_an_object_that_is_no_queue() -> None:
    assert [None, None] == [holds(body("none")), holds({"metadata": {"uid": "u"}})]
