"""`explain`: why a gang waits, and what would help."""

import functools
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cli import completion, printing, sources
from gang_scheduler.cli.exits import Exit, refuse
from gang_scheduler.cli.printing import Printed
from gang_scheduler.cli.sources import Asked, Reading
from gang_scheduler.inspection import origins
from gang_scheduler.inspection.explaining import history, names, text
from gang_scheduler.inspection.explaining.answers import Answer, answer_for
from gang_scheduler.inspection.explaining.gangs import Question
from gang_scheduler.inspection.explaining.history import Happened
from gang_scheduler.inspection.explaining.lines import View
from gang_scheduler.inspection.listing import plain_table
from gang_scheduler.simulation import defaults

if TYPE_CHECKING:
    from gang_scheduler.inspection.servers import Server

OUTPUTS: Final = ("table", "wide", "json", "yaml")
PASSING: Final = ("readAt", "waitsSeconds")
"""What changes with the time alone."""
_Found = tuple[Reading, tuple[Happened, ...]]


@click.command("explain")
@click.argument("name", shell_complete=completion.gangs)
@sources.common_options(*OUTPUTS)
@click.option("--all", "all_domains", is_flag=True, help="All domains, not only the best.")
@click.option("--since", metavar="RFC3339", help="History since a time only.")
@click.option("--at", metavar="RFC3339", help="When it is; only with -f, else after all times.")
@click.option("-w", "--watch", is_flag=True, help="Print anew when something has changed.")
def explain_command(
    *,
    asked: Asked,
    name: str,
    all_domains: bool,
    since: str | None,
    at: str | None,
    watch: bool,
) -> None:
    """Say why NAME waits, when it starts, and what would help; or where it runs.

    NAME is a PodGroup, a workload such as pytorchjob/llama, a gang or a pod, searched in this
    order; with its namespace, as in research/llama, instead of -n. Exits with 0 whatever is found,
    with 2 if several have that name, and with 3 if none has.
    """
    asked = replace(asked, namespace=names.wanted(name, asked.namespace).namespace)
    moments = _moment("--at:", at), _moment("--since:", since)
    width = plain_table.page_width(terminal=sys.stdout.isatty())
    view = View(width, all_domains, wide=asked.output == "wide")
    explained = functools.partial(_explained, asked, name, moments, view)
    if watch:
        printing.repeat(asked, explained)
    else:
        printing.show(asked, explained().text)


def _explained(
    asked: Asked, name: str, moments: tuple[int | None, int | None], view: View
) -> Printed:
    """Return what is printed, of a cluster that is read for it."""
    at, since = moments
    reading, events = _read(asked, name, at)
    question = Question(reading.cluster, events, since or 0)
    document = _document(name, answer_for(name, reading.namespace, question))
    said = {key: each for key, each in document.items() if key not in PASSING}
    if asked.output in ("json", "yaml"):
        return Printed(printing.documented(document, asked.output), said)
    return Printed(text.render(document, view, origins.line(reading.cluster)), said)


def _read(asked: Asked, name: str, at: int | None) -> _Found:
    """Return the cluster that is meant, and what Events say of what has that name."""
    if asked.filenames:
        found: _Found = (sources.of_files(asked, at), ())
    elif at is not None:
        refuse(["--at: a cluster is explained as it is now; with -f, files as of a time"])
    else:
        found = sources.answer(asked, functools.partial(_live, asked, name))
    sources.tell(found[0])
    return found


async def _live(asked: Asked, name: str, server: "Server") -> _Found:
    # Here, since files need no Kubernetes client.
    from gang_scheduler.client.errors import ApiError  # noqa: PLC0415
    from gang_scheduler.inspection.history import events_of  # noqa: PLC0415

    reading = await sources.of_server(asked, server)
    cache = reading.cluster.cache
    found = names.find(cache, names.wanted(name, reading.namespace))
    about = names.objects_of(cache, found[0]) if len(found) == 1 else None
    if about is None:
        return reading, ()
    try:
        return reading, history.of_events(await events_of(server, *about))
    except ApiError:
        return reading, ()  # Without the right to read Events there are none.


def _moment(field: str, given: str | None) -> int | None:
    try:
        return None if given is None else defaults.moment(field, given)
    except InvalidField as error:
        refuse([str(error)])


def _document(name: str, found: Answer) -> dict[str, Any]:
    """Return the document; ends the process if NAME stands for several things, or for none."""
    if found.several:
        refuse([f"{name} is the name of several:", *found.several])
    if found.document is None:
        meant = f"; did you mean {' or '.join(found.near)}?" if found.near else ""
        refuse([f"{name}: no PodGroup, workload, gang or pod has this name{meant}"], Exit.NOT_FOUND)
    return found.document
