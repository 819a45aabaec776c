"""The table of ways in which a pod says what gang it belongs to. The first match wins.

A new way is a line in SOURCES.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gang_scheduler.api import annotations
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.pods import Pod


@dataclass(frozen=True, slots=True)
class Source:
    """One way. `gang_of` gives the gang's name or "". `declared`: an object must describe it."""

    name: str
    gang_of: Callable[[Pod], str]
    declared: bool


def _pod_group_label(pod: Pod) -> str:
    spellings = (annotations.POD_GROUP_LABEL, annotations.POD_GROUP_LABEL_SCHED_PLUGINS)
    return next((pod.labels[key] for key in spellings if pod.labels.get(key)), "")


def _itself(pod: Pod) -> str:
    return pod.name


POD_GROUP = Source("PodGroup", _pod_group_label, declared=True)
SINGLE = Source("Pod", _itself, declared=False)

SOURCES = (POD_GROUP, SINGLE)
BY_NAME = {source.name: source for source in SOURCES}


def gang_of(pod: Pod) -> GangKey:
    """Return the gang of a pod; a pod with no gang is a gang of one, named after itself."""
    named = ((source, source.gang_of(pod)) for source in SOURCES)
    source, name = next(found for found in named if found[1])
    return GangKey(source.name, pod.namespace, name)
