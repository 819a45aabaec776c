"""`list`: all gangs in the order of turns, with the reason why each one waits."""

import functools
import getpass
import re
from collections.abc import Iterator, Sequence
from typing import Final

from gang_scheduler.cli import printing
from gang_scheduler.cli.exits import refuse, similar_names_hint
from gang_scheduler.cli.printing import Printed
from gang_scheduler.cli.reading import cluster_sources
from gang_scheduler.cli.reading.cluster_sources import Reading
from gang_scheduler.cli.reading.options import Asked
from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import decisions_now, gangs, nodes, queues, users
from gang_scheduler.inspection.listing.gangs import Row, Selection
from gang_scheduler.inspection.listing.queues import KnownQueues
from gang_scheduler.inspection.listing.states_and_orders import RUNNING, STARTING, STATES, WAITING
from gang_scheduler.inspection.listing.waits import NEXT_CYCLE
from gang_scheduler.model.queues import NONE
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.wording import counted

_AGE: Final = re.compile(r"(?<= )[0-9]+[smhd]([0-9]+[mh])?(?= )")
"""Matches an age in its column."""
REASONS: Final = tuple(sorted([*Reason, NEXT_CYCLE]))
"""The words for which gangs wait: the values of --reason."""


def chosen(
    states: Sequence[str],
    queues: Sequence[str],
    reasons: Sequence[str],
    selector: str,
    *,
    mine: bool,
    start: bool,
    order: str,
) -> Selection:
    """Return the selected gangs; exits with a message for an invalid selector."""
    try:
        matches = gangs.parsed_labels(selector)
    except ValueError as error:
        refuse([f"--selector: {error}"])
    wrong = [*_unknown("--state", states, STATES), *_unknown("--reason", reasons, REASONS)]
    if wrong:
        refuse(wrong)
    return Selection(
        states=gangs.words(states),
        queues=gangs.words(queues),
        reasons=gangs.words(reasons),
        selector=selector,
        matches=matches,
        user=getpass.getuser() if mine else "",
        only_waiting=start,
        order=order or ("start" if start else ""),
    )


def _unknown(option: str, given: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Yield messages about values of an option that no gang can have: the list would be empty."""
    for word in sorted(gangs.words(given) - {each.lower() for each in known}):
        yield f"{option}: {word} is none{similar_names_hint(word, known)}"


def answer(asked: Asked, chosen: Selection, *, watch: bool) -> None:
    """Print the selected gangs."""
    if watch:
        printing.repeat(asked, functools.partial(_printed, asked, chosen))
    else:
        printing.show(asked, _text(asked, chosen, cluster_sources.read(asked)))


def _text(asked: Asked, chosen: Selection, reading: Reading, *, watched: bool = False) -> str:
    cluster, namespace = reading
    decided = decisions_now.decide(cluster)
    found = gangs.gang_rows(cluster, decided, namespace)
    _refuse_unknown_queues(chosen, queues.known(cluster, decided), found)
    shown = gangs.selected(found, chosen)
    if asked.output in ("json", "yaml"):
        return printing.documented(gangs.gang_document(shown, cluster), asked.output)
    if asked.output == "name":
        return "".join(f"{row.name}\n" for row in shown)
    wide, starts = asked.output == "wide", chosen.order == "start"
    page = printing.page(asked, gangs.painted_gangs, wide=wide, watched=watched)
    header = [_header(found, cluster)] if watched else []
    lines = [*header, *gangs.gang_table(shown, cluster, page, wide=wide, starts=starts)]
    if not shown:
        lines = [*header, _nothing(len(found), namespace)]
    others = users.foreign(cluster, namespace) if chosen.is_of_all else ""
    if others and not asked.no_headers:
        lines.append(others)
    # A program that asks for no headers reads rows only.
    last = [] if asked.no_headers and not watched else [inspection_cluster.short_line(cluster)]
    return "".join(f"{line}\n" for line in (*lines, *last))


def _refuse_unknown_queues(chosen: Selection, known: KnownQueues, found: Sequence[Row]) -> None:
    """End the process if a selected queue does not exist and no gang names it.

    If the user may not list Queues, a queue may exist all the same.
    """
    names = {each.lower() for each in (*known.names, *(row.queue for row in found), NONE.name)}
    for each in sorted(chosen.queues - names) if known.all_known else ():
        above = sorted({of for name, of in known.local if name.lower() == each})
        if above:
            refuse(
                [f"--queue: {each} is a LocalQueue of {' and '.join(above)}: --queue {above[0]}"]
            )
        cluster_sources.refuse_name("queue", each, known.names)


def _nothing(number: int, namespace: str) -> str:
    """Return that no gang matches, and how many gangs there are."""
    where = f"namespace {namespace}" if namespace else "all namespaces"
    if not number:
        return f"no gangs in {where}"
    return f"none of the {counted(number, 'gang')} in {where} matches the options"


def _header(found: Sequence[Row], cluster: Cluster) -> str:
    """Return how many gangs run and wait, and how many GPUs are idle."""
    running = sum(1 for row in found if row.state in (RUNNING, STARTING))
    waiting = sum(1 for row in found if row.state == WAITING)
    gpus = nodes.gpus(cluster)
    return f"{running} running, {waiting} waiting, {gpus.free} of {gpus.all} GPUs idle"


def _printed(asked: Asked, chosen: Selection) -> Printed:
    """Read the cluster, and return the list of its gangs with a header."""
    text = _text(asked, chosen, cluster_sources.read(asked), watched=True)
    if asked.output not in ("table", "wide"):
        return Printed(text, text)
    lines = tuple(map(_without_times, text.splitlines()))
    # The last line has the time of reading, and the first lines are headings.
    heads = 1 if asked.no_headers else 2
    return Printed(text, lines[:-1], (*("" for _ in lines[:heads]), *lines[heads:-1], ""))


def _without_times(line: str) -> str:
    """Return a line without ages, and with single spaces, to compare it with an earlier line."""
    return " ".join(_AGE.sub("", line).split())
