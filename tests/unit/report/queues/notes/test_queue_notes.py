"""What administrators of queues are told."""

from typing import Any, cast

from gang_scheduler.decode.queues import kueue, ours
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.queues import Product
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.queues.notes import QueueNotes

NO_EFFECT = "spec.borrowing.{} has no effect while spec.borrowing.enabled is not true"


class Recorded:
    """Keeps Events."""

    def __init__(self) -> None:
        self.all: list[tuple[About, str, str]] = []

    def record(self, about: About, reason: str, note: str, **_: bool) -> None:
        """Keep an Event."""
        self.all.append((about, reason, note))


def notes_on(declared: dict[str, DeclaredQueue], events: Recorded) -> QueueNotes:
    return QueueNotes(declared, cast("Events", events))


def queue(**spec: Any) -> DeclaredQueue:
    return ours.queue({"metadata": {"name": "a", "uid": "u"}, "spec": spec})


def test_fields_without_effect_are_reported_once_and_again_when_they_are_others() -> None:
    events = Recorded()
    declared = {"u": queue(borrowing={"allowedQueues": []})}
    notes = notes_on(declared, events)

    notes.tell()
    notes.tell()
    declared["u"] = queue(borrowing={"maxBorrowRatio": 2})
    notes.tell()
    declared["u"] = queue()
    notes.tell()

    about = About("py-gang-scheduler.io/v1alpha1", "Queue", "", "a", "u")
    assert [
        (about, "WithoutEffect", NO_EFFECT.format("allowedQueues")),
        (about, "WithoutEffect", NO_EFFECT.format("maxBorrowRatio")),
    ] == events.all


def test_a_name_that_means_nothing_is_reported_once_it_has_stayed_so() -> None:
    events = Recorded()
    declared = {"u": queue(borrowing={"enabled": True, "allowedQueues": ["b"]})}
    notes = notes_on(declared, events)

    notes.tell()
    assert [] == events.all
    notes.tell()
    notes.tell()

    words = "spec.borrowing.allowedQueues: no queue is called b"
    about = About("py-gang-scheduler.io/v1alpha1", "Queue", "", "a", "u")
    assert [(about, "UnknownName", words)] == events.all


def test_an_event_is_about_the_object_in_the_version_that_it_came_in() -> None:
    events = Recorded()
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": "cq", "uid": "u"},
        "spec": {"concurrentAdmissionPolicy": {}},
    }
    declared = {"u": kueue.cluster_queue(body)}
    notes_on(declared, events).tell()

    ((about, _, _),) = events.all
    assert About("kueue.x-k8s.io/v1beta1", "ClusterQueue", "", "cq", "u") == about


def test_multikueue_has_no_effect_and_other_checks_are_not_reported() -> None:
    events, checks = Recorded(), {}
    for name, controller in (("far", "kueue.x-k8s.io/multikueue"), ("near", "example.com/check")):
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "metadata": {"name": name, "uid": name},
            "spec": {"controllerName": controller},
        }
        checks[name] = kueue.admission_check(body)
    notes = QueueNotes({}, cast("Events", events), checks)
    notes.tell()
    notes.tell()

    ((about, _, note),) = events.all
    assert About("kueue.x-k8s.io/v1beta1", "AdmissionCheck", "", "far", "far") == about
    assert note.startswith("spec.controllerName kueue.x-k8s.io/multikueue has no effect")


def test_who_else_decides_is_reported_on_the_lease() -> None:
    events = Recorded()
    notes = notes_on({}, events)
    notes.decided_elsewhere(Product.KUEUE, ("kueue-system", "lease"), "u")

    ((about, reason, note),) = events.all
    assert About("coordination.k8s.io/v1", "Lease", "kueue-system", "lease", "u") == about
    assert "QuotaNotEnforced" == reason
    assert note.startswith("Kueue's controller decides the quota of its queues")
