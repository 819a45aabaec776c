"""The answer of `explain` for a gang of a cluster, as text and as its document."""

from typing import Any

from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection import cluster, live
from gang_scheduler.inspection.explaining import document_fields, history, name_lookup, text
from gang_scheduler.inspection.explaining.answers import answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.inspection.history import events_of
from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit.gang_states import NoSuchGang
from gang_scheduler.watch import live as lists

WIDTH = 100


async def of_server(server: Server, name: str, namespace: str) -> tuple[str, dict[str, Any]]:
    """Return text and document on a gang. Raises NoSuchGang, and ApiError."""
    found = await live.read(server, namespace)
    about = name_lookup.objects_about(found.cache, name, namespace)
    events: tuple[history.Happened, ...] = ()
    without_events = ""
    if about is not None:
        try:
            events = history.of_events(await events_of(server, *about))
        except ApiError as error:
            is_forbidden = error.status == lists.FORBIDDEN
            without_events = history.MAY_NOT_BE_LISTED if is_forbidden else f"Events: {error}"
    answer = answer_for(name, namespace, Question(found, events, 0, without_events))
    if answer.document is None:
        raise NoSuchGang(name, namespace, answer.several or answer.near)
    shown = text.render(answer.document, View(WIDTH), cluster.origin_line(found))
    return shown, document_fields.as_json(answer.document)
