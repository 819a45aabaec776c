"""Completes pod classes with what is known only in this cluster; equal classes are one object."""

import functools
from dataclasses import replace

from gang_scheduler.decode.pods import node_requirements
from gang_scheduler.model.affinity.pod_affinity import PodSelector
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Storage


def enrich(
    pod_class: PodClass, selected_by: frozenset[PodSelector], storage: Storage | None
) -> PodClass:
    """Return the class with these selectors and storage; the same object if nothing changes."""
    if selected_by == pod_class.selected_by and storage == pod_class.storage:
        return pod_class
    return _enrich(pod_class, selected_by, storage)


@functools.lru_cache(maxsize=8192)
def _enrich(
    pod_class: PodClass, selected_by: frozenset[PodSelector], storage: Storage | None
) -> PodClass:
    return node_requirements.interned(replace(pod_class, selected_by=selected_by, storage=storage))
