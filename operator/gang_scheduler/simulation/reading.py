"""From documents to objects, by the table of kinds, and the checks around it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gang_scheduler.api.kinds import (
    GVR,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import names, priority_classes
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.network.topologies import DeclaredTopology
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.decode.workloads import makers
from gang_scheduler.decode.workloads.members import table
from gang_scheduler.decode.workloads.members.present import Present, controller, part
from gang_scheduler.decode.workloads.members.source import Source
from gang_scheduler.decode.workloads.table import KINDS as TABLE
from gang_scheduler.model.queues import Product
from gang_scheduler.model.refs import QueueName
from gang_scheduler.report.texts.plurals import counted
from gang_scheduler.simulation import (
    defaults,
    in_vain,
    kinds,
    networks,
    stored,
    volumes,
)
from gang_scheduler.simulation.completed import with_age, with_scheduler
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.found import (
    UNDATED_SECONDS,
    Body,
    FoundObject,
    Loaded,
    SchedulerNames,
)
from gang_scheduler.simulation.kinds import Kind
from gang_scheduler.simulation.readers import fillers, readers
from gang_scheduler.simulation.skipped import Skipped
from gang_scheduler.simulation.snapshot_files import Stored
from gang_scheduler.simulation.validation import objects as validation
from gang_scheduler.state.queues.names import product_of

WITH_GANGS = frozenset(
    {
        *(each.objects.versions[0] for each in TABLE if each.objects),
        *(each.versions[0] for each in makers.MAKERS),
    }
)
"""The kinds of workloads of which gangs are made."""
T = TypeVar("T")


class Reading:
    """The objects found so far, in order, and the problems of documents.

    `named` are the products whose names of queues mean something beside these objects.
    """

    def __init__(
        self,
        present: Present,
        membership: Membership,
        named: Collection[Product] = tuple(Product),
        *,
        strict: bool,
    ) -> None:
        self.objects: dict[tuple[str, str, str, str], FoundObject] = {}
        self.uids: dict[str, FoundObject] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.skipped = Skipped()
        self.unknown_fields: dict[tuple[str, str], str] = {}
        self.without_limits: Counter[tuple[str, str]] = Counter()
        self.latest = 0
        self.assumed_ours = 0
        self._stored: list[Stored] = []
        self._present = present
        self._membership = membership
        self._strict = strict
        self._named = named
        self._sequence = 0

    def take(self, document: Item) -> None:
        """Take in a document of a known kind; note a document of another kind as skipped."""
        if isinstance(document, Problem):
            self.problems.append(document)
            return
        if isinstance(document, Stored):
            self._stored.append(document)
            return
        try:
            kind = kinds.kind_of(document.body)
            if document.made_by is None:
                notes = (in_vain.note(document), in_vain.apart(document))
                self.notes.extend(filter(None, notes))
            self._validate(document)
            if kind is None:
                self.skipped.add(document)
                return
            self._sequence += 1
            body = defaults.with_identity(document.body, self._sequence, namespaced=kind.namespaced)
            if document.made_by is None:
                names.check(kind.gvr, body["metadata"])
            made = [] if document.header else self._made_of(kind, document, body)
            self._add(FoundObject(document, kind, body))
            self._take_made(document, made)
        except InvalidField as error:
            self.problems.append(document.problem(error))

    def _validate(self, document: Document) -> None:
        """Note the fields that an API server drops. Raises InvalidField for what it refuses.

        An API server has seen all that is from one. Of what is made of a manifest it is enough that
        its template was seen.
        """
        if not self._strict or document.is_from_cluster or document.header:
            return
        maker = document.made_by
        if maker is not None and validation.is_known(maker.body):
            return
        for each in validation.unknown_fields(document.body):
            first = document if maker is None else maker
            self.unknown_fields.setdefault((first.place, each), f"{document.place}: {each}")
        if document.body["kind"] == "Pod":
            for each in validation.without_limits(document.body):
                self.without_limits[document.file, each] += 1

    def load(self, scheduler_names: SchedulerNames) -> tuple[Loaded, ...]:
        """Return what can be read, in order; note what is wrong with the rest."""
        classes = {
            each.key: self._try(each, priority_classes.read) for each in self._of(PRIORITY_CLASSES)
        }
        known = priority_classes.priorities_of(filter(None, classes.values()))
        storage_classes = (each.body for each in self._of(STORAGE_CLASSES))
        fill = {**fillers(scheduler_names, known), **volumes.fillers(storage_classes)}
        reads = readers(self._membership)
        found = [*self._load_stored()]
        for age, each in enumerate(self.objects.values(), start=1):
            gvr = each.kind.gvr
            body = self._try(each, fill[gvr]) if gvr in fill else each.body
            noun: object = classes.get(each.key)
            if body and gvr in reads and each.key not in classes:
                noun = self._try(replace(each, body=body), reads[gvr])
            if noun is not None:
                share = age / (len(self.objects) + 1)
                noun = with_age(noun, each.body, self.latest + share * UNDATED_SECONDS)
                noun = with_scheduler(noun, scheduler_names)
                found.append(Loaded(gvr, noun, body))
                self._note_oddity(each, noun)
                self.assumed_ours += scheduler_names.is_assumed(each)
        return tuple(found)

    def remarks(self) -> Iterator[str]:
        """Yield what is said of the input on stderr."""
        yield from self.unknown_fields.values()
        for (file, resource), number in self.without_limits.items():
            asks = f"{counted(number, 'pod')} with a request for {resource} and no limit"
            yield f"{file}: {asks}: an API server refuses that, unless a LimitRange sets one"
        yield from self.skipped.lines()
        yield from self.notes

    def _load_stored(self) -> Iterator[Loaded]:
        """Yield the objects of snapshots; note what is wrong with them."""
        if self._stored and self.objects:
            self._refuse_both()
        for each in stored.load(self._stored, self._membership):
            if each.problem:
                self.problems.append(Problem(each.problem))
            if each.note:
                self.notes.append(each.note)
            if each.gvr is not None and each.noun is not None:
                yield Loaded(each.gvr, each.noun)

    def _refuse_both(self) -> None:
        """Note the manifests of objects that a snapshot has, too."""
        for each in self._stored:
            same = self.objects.get(stored.key_of(each))
            if same is not None:
                self.problems.append(
                    same.document.problem(
                        InvalidField(
                            "metadata.name", same.key[3], f"must differ from that of {each.place}"
                        )
                    )
                )

    def _made_of(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        """Return what the controller of this object would still create. Raises InvalidField."""
        if kind.gvr == PODS:
            made = [*volumes.claims_of(body)]
        else:
            made = self._made_of_workload(kind, document, body)
        return [each for each in made if each["kind"] == "Pod" or not self._present.has(each)]

    def _made_of_workload(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        found = kind.read(body) if kind.gvr in WITH_GANGS else None
        stored = document.is_from_cluster
        if isinstance(found, GangObject) and (
            self._waits(found, from_cluster=stored) or self._maker_waits(found, body)
        ):
            return []
        uid = body["metadata"]["uid"] if stored and document.made_by is None else ""
        source = Source(body, self._present, from_cluster=stored, uid=uid)
        made = table.made_of(source)
        self.notes += (f"{document.place}: {each}" for each in (*source.notes, *source.unknown))
        self.skipped.not_expanded += bool(source.unknown) and not stored
        return made

    def _waits(self, found: GangObject, *, from_cluster: bool) -> bool:
        """Return whether a workload waits suspended, in a queue or on a cluster."""
        said = found.suspended
        return said is not None and (from_cluster or self._mean_any(said.names))

    def _maker_waits(self, found: GangObject, body: Body) -> bool:
        """Return whether what made a workload waits in a queue, and says nothing of its members."""
        if found.part is None or not found.part.gangs:
            return False
        owner = controller(body)
        named = str(owner["kind"]), names.group_of(str(owner["apiVersion"]))
        maker = self._present.find(*named, body["metadata"]["namespace"], str(owner["name"])) or {}
        labels, present = (part(maker, "metadata", each) for each in ("labels", "annotations"))
        queue = naming.request_of(labels, present)
        asked = (*found.part.names, *(queue.names if queue is not None else ()))
        return self._mean_any(asked) and part(maker, "spec").get("suspend") is True

    def _mean_any(self, names: Iterable[QueueName]) -> bool:
        """Return whether any of these names is that of a queue, found or not."""
        return any(product_of(each) in self._named for each in names)

    def _take_made(self, document: Document, made: Iterable[Body]) -> None:
        """Take in what the controller of a workload creates, as if it were in the input."""
        for each in made:
            path = f"{each['kind']} {each['metadata']['name']}"
            self.take(replace(document, body=each, path=path, made_by=document))

    def _of(self, gvr: GVR) -> Iterable[FoundObject]:
        return (each for each in self.objects.values() if each.kind.gvr == gvr)

    def _try(self, each: FoundObject, loader: Callable[[Mapping[str, Any]], T]) -> T | None:
        try:
            return loader(each.body)
        except InvalidField as error:
            self.problems.append(each.document.problem(error))
            return None

    def _note_oddity(self, each: FoundObject, noun: object) -> None:
        name = each.body["metadata"]["name"]
        why = names.why_refused(each.kind.gvr, name)
        if isinstance(noun, DeclaredTopology):
            why = networks.why_unused(noun)
        elif isinstance(noun, DeclaredQueue | AdmissionCheck):
            why = "; ".join(noun.notes)
        if why:
            name = f"{each.kind.kind} {name}"
            self.notes.append(f"{each.document.place}: {name}: {why}")

    def _add(self, found: FoundObject) -> None:
        before = self.objects.get(found.key)
        if before is not None:
            self._refuse_second(before, found)
            return
        same_uid = self.uids.setdefault(found.body["metadata"]["uid"], found)
        if same_uid is not found:
            uid = found.body["metadata"]["uid"]
            other = f"must differ from that of {same_uid.document.place}"
            raise InvalidField("metadata.uid", uid, other)
        self.objects[found.key] = found
        self.latest = max(self.latest, defaults.latest_time(found.body))

    def _refuse_second(self, before: FoundObject, found: FoundObject) -> None:
        if before.document.body != found.document.body:
            kind, _, namespace, name = found.key
            named = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            text = f"{found.document.place}: {named} is in {before.document.place} already"
            self.problems.append(Problem(f"{text}, and they differ"))
