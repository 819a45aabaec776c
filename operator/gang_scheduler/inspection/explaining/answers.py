"""The answer for a NAME: a document, or what there is of that name instead."""

from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.inspection import origins
from gang_scheduler.inspection.clusters import Source
from gang_scheduler.inspection.explaining import gangs, names, strangers, written
from gang_scheduler.inspection.explaining.gangs import Question
from gang_scheduler.inspection.explaining.names import Match

Json = dict[str, Any]

HEADER: Final = {"apiVersion": "py-gang-scheduler.io/v1alpha1", "kind": "Explanation"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The `document` for a NAME; else `several` that it may stand for, or names `near` it."""

    document: Json | None = None
    several: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def answer_for(name: str, namespace: str, asked: Question) -> Answer:
    """Return what is known of a NAME; "" is any namespace. Costs about ten cycles."""
    cache = asked.cluster.cache
    wanted = names.wanted(name, namespace)
    found = names.find(cache, wanted)
    if not found:
        return Answer(near=names.near(cache, wanted))
    if len(found) > 1:
        return Answer(several=tuple(str(each) for each in found))
    return Answer(_document(found[0], asked))


def _document(match: Match, asked: Question) -> Json:
    cluster = asked.cluster
    stranger = strangers.sentence_of(match, cluster.cache)
    if stranger or match.gang is None:
        made = {"name": _name(match), "state": "NotAGang", "verdict": None, "summary": stranger}
    elif cluster.source is Source.WRITTEN:
        made = written.document_of(match.gang, asked)
    else:
        made = gangs.document_of(match.gang, asked)
    return {**HEADER, **origins.document(cluster), **made}


def _name(match: Match) -> str:
    return str(match).partition("/")[2]
