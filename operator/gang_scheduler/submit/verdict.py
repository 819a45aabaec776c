"""The answers of `explain` about a gang, and about a job if it were created now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api.kinds import POD_GROUPS, PRIORITY_CLASSES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.from_settings import membership
from gang_scheduler.inspection import cluster, live
from gang_scheduler.inspection.cluster import ASK_FOR_ALL, Cluster, Source
from gang_scheduler.inspection.explaining import document_fields, history, name_lookup, text
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.document_fields import Document
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.inspection.listing import table_layout
from gang_scheduler.inspection.past_events import events_of
from gang_scheduler.inspection.servers import Server
from gang_scheduler.scheduler.explanation.findings import Verdict
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.state import kinds
from gang_scheduler.submit.gang_states import NoSuchGang
from gang_scheduler.submit.objects import Planned
from gang_scheduler.submit.refusals import Faults
from gang_scheduler.watch import list_once

WIDTH: Final = 100
"""The width of the text about a gang."""
UNKNOWN: Final = (
    "when it starts is not known with your rights; once it is created, `explain` says what the "
    "scheduler writes"
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A sentence on when the job starts, and the document of `explain`, None if it is not known."""

    sentence: str
    document: Document | None = None


async def of_server(server: Server, plan: Sequence[Planned], namespace: str) -> Prediction:
    """Return the prediction for a job in a cluster. Creates nothing. Raises ApiError, Faults.

    Takes as long as `explain` for the whole cluster.
    """
    try:
        cluster = await live.read(server, namespace)
        classes = await list_once.bodies(
            server.connection, PRIORITY_CLASSES, page_seconds=server.request_seconds
        )
    except ApiError as error:
        if error.status != list_once.FORBIDDEN:
            raise
        return Prediction(f"{UNKNOWN} ({ASK_FOR_ALL})")
    if cluster.source is Source.WRITTEN:
        return Prediction(UNKNOWN)
    return predicted(cluster, plan, classes)


def predicted(
    cluster: Cluster, plan: Sequence[Planned], classes: Sequence[dict[str, Any]] = ()
) -> Prediction:
    """Return the prediction for a job.

    The pods of the job are added to the cache of the cluster.
    """
    bodies = [*classes, *(each.body for each in plan)]
    items = [
        documents.Document("submit", number, body) for number, body in enumerate(bodies, start=1)
    ]
    scheduler = cluster.policy.rules.gangs.scheduler_names[0]
    try:
        found = objects.load(
            items, scheduler, at=cluster.read_at, membership=membership(cluster.policy)
        )
    except UnreadableInput as error:
        raise Faults(error.lines) from error
    for each in found.loaded:
        if each.gvr != PRIORITY_CLASSES:
            cluster.cache.upsert(kinds.of(each.gvr).store(cluster.cache), each.decoded)
    answer = explained(plan, cluster)
    if answer.document is None:
        return Prediction("each of its pods starts by itself")
    return Prediction(_sentence(answer.document), answer.document)


def explained(plan: Sequence[Planned], cluster: Cluster) -> Answer:
    """Return the answer of `explain` about a job whose objects are in the cluster."""
    named = next((each for each in plan if each.gvr == POD_GROUPS), plan[0])
    namespace = str(named.body["metadata"]["namespace"])
    return answer_for(f"{named.kind.lower()}/{named.name}", namespace, Question(cluster))


def _sentence(document: Document) -> str:
    if document.verdict is Verdict.STARTS:
        where = document.where
        domains = where.domains if where is not None and where.layer else ()
        at = f" in {domains[0].domain}" if domains else ""
        return f"starts now{at}"
    if document.verdict is Verdict.MAKES_ROOM:
        return f"makes room: {document.summary}"
    start = document.start
    when = ""
    if start is not None and start.at is not None:
        when = f", about {table_layout.moment(start.at, document.read_at)} UTC"
    return f"waits{when}: {document.summary}"


async def about_gang(server: Server, name: str, namespace: str) -> tuple[str, dict[str, Any]]:
    """Return text and document on a gang. Raises NoSuchGang, and ApiError."""
    found = await live.read(server, namespace)
    about = name_lookup.objects_about(found.cache, name, namespace)
    events: tuple[history.Happened, ...] = ()
    without_events = ""
    if about is not None:
        try:
            events = history.of_events(await events_of(server, *about))
        except ApiError as error:
            is_forbidden = error.status == list_once.FORBIDDEN
            without_events = history.MAY_NOT_BE_LISTED if is_forbidden else f"Events: {error}"
    answer = answer_for(name, namespace, Question(found, events, 0, without_events))
    if answer.document is None:
        raise NoSuchGang(name, namespace, answer.several or answer.near)
    shown = text.render(answer.document, View(WIDTH), cluster.origin_line(found))
    return shown, document_fields.as_json(answer.document)
