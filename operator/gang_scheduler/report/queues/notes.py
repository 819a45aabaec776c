"""Notes to administrators on queues: fields without effect, and quotas that are not enforced."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from gang_scheduler.background_tasks import every
from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.model import similar_names
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.queues import (
    DEFAULT_FLAVOR,
    GPU,
    NONE,
    ROOT,
    FlavorResource,
    Product,
    Queue,
    QueueKind,
)
from gang_scheduler.model.resources import RequestRules
from gang_scheduler.report.events import About, Events
from gang_scheduler.state.pruning import Reported

# Names of queues and resources in our Queues that match nothing and are probably misspelt.

CLOSE_ENOUGH: Final = 0.8
ALWAYS_THERE: Final = frozenset({ROOT.name, NONE.name})


def counted(nodes: NodeTable, rules: RequestRules) -> frozenset[str]:
    """Return the resources that pods can be charged for; empty while there are no nodes."""
    if not len(nodes):
        return frozenset()
    outputs = (name for each in rules.transformations.values() for name, _ in each.outputs)
    return frozenset({GPU, *nodes.resources, *outputs})


def unknown_name_notes(
    queue: Queue, queues: Collection[str], resources: Collection[str]
) -> tuple[str, ...]:
    """Return the notes on one of our Queues; none on resources while no resource is known."""
    return (*_queues(queue, queues), *_resources(queue, resources))


def _queues(queue: Queue, known: Collection[str]) -> Iterator[str]:
    fields = {
        "spec.borrowing.allowedQueues": queue.lenders,
        "spec.preemption.allowPreemptFrom": queue.evictions.may_lose_to,
    }
    for where, names in fields.items():
        unknown = (each for each in names or () if each not in known and each not in ALWAYS_THERE)
        for name in sorted(unknown):
            yield f"{where}: no queue is called {name}{_meant(name, known)}"


def _resources(queue: Queue, known: Collection[str]) -> Iterator[str]:
    for of in sorted(queue.quotas) if known else ():
        if of.resource not in known:
            meant = _meant(of.resource, known)
            yield f"{_field(queue, of)}: no node has {of.resource}{meant}"


def _field(queue: Queue, of: FlavorResource) -> str:
    if of.flavor == DEFAULT_FLAVOR:
        return "spec.quota"
    return f"spec.flavors[{queue.resource_groups[0].flavors.index(of.flavor)}].quota"


def _meant(name: str, known: Collection[str]) -> str:
    near = similar_names.close_to(name, known, cutoff=CLOSE_ENOUGH)
    return f" (did you mean {near[0]}?)" if near else ""


# A name without a counterpart is reported only if two checks in a row found it: the object with
# that name may still be created.

LOOK_SECONDS: Final = 5.0
WITHOUT_EFFECT: Final = "WithoutEffect"
UNKNOWN_NAME: Final = "UnknownName"
NOT_ENFORCED: Final = "QuotaNotEnforced"
KINDS_IN_MANIFESTS: Final = {
    "queues": "Queue",
    "clusterqueues": "ClusterQueue",
    "cohorts": "Cohort",
}
_CONTROLLERS: Final = {Product.KUEUE: "Kueue's controller", Product.VOLCANO: "Volcano's scheduler"}


_NO_CHECKS: Final[Mapping[str, AdmissionCheck]] = {}
_Found = dict[tuple[str, str], tuple[About, tuple[str, ...]]]
"""The notes to write, by uid and reason."""


def _no_resources() -> Collection[str]:
    return ()


class QueueNotes:
    """Reports each object with fields that have no effect by an Event, once for each set of notes.

    `declared` are the queues by uid and `checks` the AdmissionChecks by name; both change.
    `resources` returns the resources that pods can be charged for, none while there are no nodes.
    """

    def __init__(
        self,
        declared: Mapping[str, DeclaredQueue],
        events: Events,
        checks: Mapping[str, AdmissionCheck] = _NO_CHECKS,
        resources: Callable[[], Collection[str]] = _no_resources,
    ) -> None:
        self._declared = declared
        self._checks = checks
        self._resources = resources
        self._events = events
        self._reported: Reported[tuple[str, str], tuple[str, ...]] = Reported()
        self._unknown: dict[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        """Report notes every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.tell, "report", "notes on queues", at_once=True)

    def tell(self) -> None:
        """Emit an Event for each object whose notes have changed since the last call."""
        found = self._found()
        self._reported.keep({key for key, (_, notes) in found.items() if notes})
        for key, (about, notes) in found.items():
            if notes and self._reported.is_news(key, notes):
                self._events.record(about, key[1], "; ".join(notes), warning=True)

    def _found(self) -> _Found:
        found: _Found = {}
        for uid, each in self._declared.items():
            found[uid, WITHOUT_EFFECT] = _about(each), each.notes
        for uid, notes in self._stays_unknown():
            found[uid, UNKNOWN_NAME] = _about(self._declared[uid]), notes
        for check in self._checks.values():
            about = About(check.api_version, "AdmissionCheck", "", check.name, check.uid)
            found[check.uid, WITHOUT_EFFECT] = about, check.notes
        return found

    def _stays_unknown(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the names in our Queues that matched nothing now and at the last check."""
        before = self._unknown
        queues = {
            uid: each.queue
            for uid, each in self._declared.items()
            if each.queue.ref.kind is QueueKind.QUEUE
        }
        names, resources = {each.ref.name for each in queues.values()}, self._resources()
        self._unknown = {
            uid: unknown_name_notes(each, names, resources) for uid, each in queues.items()
        }
        for uid, notes in self._unknown.items():
            yield uid, tuple(note for note in notes if note in before.get(uid, ()))

    def decided_elsewhere(self, product: Product, lease: tuple[str, str], uid: str) -> None:
        """Emit an Event on the Lease of another controller that decides quota."""
        about = About("coordination.k8s.io/v1", "Lease", *lease, uid)
        words = (
            f"{_CONTROLLERS[product]} decides the quota of its queues: py-gang-scheduler charges "
            "and shows them, and lets no gang wait for quota in them"
        )
        self._events.record(about, NOT_ENFORCED, words)


def _about(declared: DeclaredQueue) -> About:
    kind = KINDS_IN_MANIFESTS[declared.gvr.plural]
    return About(declared.gvr.api_version, kind, "", declared.queue.ref.name, declared.uid)
