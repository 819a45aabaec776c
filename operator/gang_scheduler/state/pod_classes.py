"""Asks with what is known only in this cluster, and equal ones as one object."""

import functools
from dataclasses import replace

from gang_scheduler.decode.pods import node_requirements
from gang_scheduler.model.pod_affinity import PodSelector
from gang_scheduler.model.pods import Ask
from gang_scheduler.model.volumes import Storage


def dressed(ask: Ask, selected_by: frozenset[PodSelector], storage: Storage | None) -> Ask:
    """Return the ask with these; the same object where that is what it has."""
    if selected_by == ask.selected_by and storage == ask.storage:
        return ask
    return _dressed(ask, selected_by, storage)


@functools.lru_cache(maxsize=8192)
def _dressed(ask: Ask, selected_by: frozenset[PodSelector], storage: Storage | None) -> Ask:
    return node_requirements.interned(replace(ask, selected_by=selected_by, storage=storage))
