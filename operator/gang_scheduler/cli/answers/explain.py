"""`explain`: why a gang waits, and which changes would help."""

import functools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli import printing
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.printing import Printed
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.cluster_sources import Reading
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster
from gang_scheduler.inspection.explaining import document_fields, history, name_lookup, text
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.document import Question
from gang_scheduler.inspection.explaining.document_fields import Document
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.section_lines import View
from gang_scheduler.simulation import defaults

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

PASSING: Final = ("readAt", "waitsSeconds")
"""Fields of the document that change as time passes, even if nothing else changes."""
_HEADING: Final = re.compile(r"(?m)^[A-Z]{2,}(?: [A-Z]{2,})*(?= {2}|$)")
_DURATION: Final = re.compile(r"[0-9]+ (s|min|h|days)\b")


class _Found(NamedTuple):
    """A cluster with the Events about the named object, or the reason why Events are unknown."""

    reading: Reading
    events: tuple[Happened, ...] = ()
    without_events: str = ""


class Wanted(NamedTuple):
    """The NAME to explain, and the times `since` and `at` as the user wrote them."""

    name: str
    all_domains: bool = False
    since: str | None = None
    at: str | None = None


def answer(asked: Asked, wanted: Wanted, *, watch: bool) -> None:
    """Print the explanation of a NAME; exits with a message if it fits no object, or several."""
    name = wanted.name
    asked = replace(asked, namespace=name_lookup.wanted(name, asked.namespace).namespace)
    moments = _moment("--at:", wanted.at), _moment("--since:", wanted.since)
    view = View(printing.width(watched=watch), wanted.all_domains, wide=asked.output == "wide")
    explained = functools.partial(_explained, asked, name, moments, view)
    if watch:
        printing.repeat(asked, explained)
    else:
        printing.show(asked, explained().text)


def _explained(
    asked: Asked, name: str, moments: tuple[int | None, int | None], view: View
) -> Printed:
    """Return the text to print about a cluster that was just read."""
    at, since = moments
    reading, events, without_events = _read(asked, name, at)
    question = Question(reading.cluster, events, since or 0, without_events)
    document = _document(name, answer_for(name, reading.namespace, question))
    found = document_fields.as_json(document)
    said = {key: each for key, each in found.items() if key not in PASSING}
    if asked.output in ("json", "yaml"):
        return Printed(printing.documented(found, asked.output), said)
    shown = text.render(document, view, cluster.origin_line(reading.cluster))
    lines = tuple(_DURATION.sub("", line).strip() for line in shown.splitlines())
    return Printed(_painted(shown) if asked.colored else shown, said, (*lines[:-1], ""))


def _painted(shown: str) -> str:
    """Return the text with its first line and the headings of its sections highlighted."""
    first, _, rest = shown.partition("\n")
    document_fields = _HEADING.sub(lambda found: click.style(found[0], bold=True), rest)
    return f"{click.style(first, bold=True)}\n{document_fields}"


def _read(asked: Asked, name: str, at: int | None) -> _Found:
    """Return the cluster that the options select, and the Events about objects of that name."""
    if asked.filenames:
        found = _of_files(cluster_sources.of_files(asked, at), name)
    elif at is not None:
        refuse(["--at: a cluster is explained as it is now; with -f, files as of a time"])
    else:
        found = cluster_sources.answer(asked, functools.partial(_live, asked, name))
    cluster_sources.tell(found.reading)
    return found


def _of_files(reading: Reading, name: str) -> _Found:
    """Return the Events of a snapshot about the named object, or why there are none."""
    cluster = reading.cluster
    about = _about(reading, name)
    if about is None and not _near(reading, name):
        cluster_sources.refuse_unknown_namespace(reading)
    if cluster.events is None or about is None:
        lacks = cluster.of_snapshot and cluster.events is None
        return _Found(reading, (), history.IN_NO_SNAPSHOT if lacks else "")
    return _Found(reading, history.of_snapshot(cluster.events, *about))


def _about(reading: Reading, name: str) -> tuple[str, frozenset[str]] | None:
    """Return namespace and names of the objects whose Events concern a NAME; None if unknown."""
    return name_lookup.objects_about(reading.cluster.cache, name, reading.namespace)


def _near(reading: Reading, name: str) -> bool:
    """Return whether any object has the NAME, or a similar one."""
    cache, wanted = reading.cluster.cache, name_lookup.wanted(name, reading.namespace)
    return bool(name_lookup.find(cache, wanted) or name_lookup.near(cache, wanted))


async def _live(asked: Asked, name: str, server: "Server") -> _Found:
    # Here, since files need no Kubernetes client.
    from gang_scheduler.client.errors import ApiError  # noqa: PLC0415
    from gang_scheduler.inspection.past_events import events_of  # noqa: PLC0415

    reading = await cluster_sources.of_server(asked, server)
    about = _about(reading, name)
    if about is None:
        if not _near(reading, name):
            await cluster_sources.must_know_namespace(reading, server)
        return _Found(reading)
    try:
        return _Found(reading, history.of_events(await events_of(server, *about)))
    except ApiError:
        return _Found(reading, (), history.MAY_NOT_BE_LISTED)


def _moment(field: str, given: str | None) -> int | None:
    try:
        return None if given is None else defaults.moment(field, given)
    except InvalidField as error:
        refuse([str(error)])


def _document(name: str, found: Answer) -> Document:
    """Return the document; exits with a message if NAME fits several objects or none."""
    if found.several:
        refuse([f"several gangs are named {name}:", *found.several])
    if found.document is None:
        meant = f"; did you mean {' or '.join(found.near)}?" if found.near else ""
        refuse([f"{name}: no PodGroup, workload, gang or pod has this name{meant}"], Exit.NOT_FOUND)
    return found.document
