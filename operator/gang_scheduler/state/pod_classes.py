"""Completes pod classes with what is known only in this cluster; equal classes are one object."""

import weakref
from dataclasses import replace
from typing import Final

from gang_scheduler.decode.pods import node_requirements
from gang_scheduler.model.affinity.pod_affinity import PodSelector
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Storage

_enriched: Final[
    weakref.WeakValueDictionary[tuple[PodClass, frozenset[PodSelector], Storage | None], PodClass]
] = weakref.WeakValueDictionary()
"""Complete classes that are in use, by what they were made of."""


def enrich(
    pod_class: PodClass, selected_by: frozenset[PodSelector], storage: Storage | None
) -> PodClass:
    """Return the class with these selectors and storage; the same object if nothing changes."""
    if selected_by == pod_class.selected_by and storage == pod_class.storage:
        return pod_class
    said = (pod_class, selected_by, storage)
    known = _enriched.get(said)
    if known is None:
        known = replace(pod_class, selected_by=selected_by, storage=storage)
        _enriched[said] = known = node_requirements.interned(known)
    return known
