"""The table of membership rules: how a pod says which gang it belongs to. The first match wins.

A new rule is a line in `model.gang_sources` and one here. A rule whose gangs no object describes
must be added to `state.gangs.records.observed` (`BY_MEMBERS`), and the prefix of the annotations
that describe them to `decode.pods.pod`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gang_sources import GangSource, job_set_gang
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import NO_OWNER, Metadata, OwnerReference
from gang_scheduler.wire.pods import Pod

POD_GROUP_LABELS: Final = (
    annotations.POD_GROUP_LABEL,
    annotations.POD_GROUP_LABEL_SCHED_PLUGINS,
)


def gang_of(source: Pod) -> GangKey:
    """Return the gang of a pod; a pod with no gang is a gang of one, named after itself."""
    for rule, name_of in _RULES:
        if name := name_of(source):
            return GangKey(rule, source.metadata.namespace, name)
    return GangKey(gang_sources.SINGLE.name, source.metadata.namespace, source.metadata.name)


def job_of(metadata: Metadata) -> OwnerReference:
    """Return the Job that controls a pod, else NO_OWNER."""
    for each in metadata.owner_references:
        if each.controller and each.is_job:
            return each
    return NO_OWNER


def _native(source: Pod) -> str:
    return source.spec.scheduling_group.pod_group_name


def _pod_group_label(source: Pod) -> str:
    labels = source.metadata.labels
    return next((labels[key] for key in POD_GROUP_LABELS if labels.get(key)), "")


def _annotation(source: Pod) -> str:
    own = source.metadata.annotations.get(annotations.GANG_NAME)
    return own or source.metadata.labels.get(annotations.GANG_NAME_LABEL, "")


def _job_set(source: Pod) -> str:
    labels = source.metadata.labels
    job_set, job = labels.get(JOB_SET_LABEL), labels.get(REPLICATED_JOB_LABEL)
    return job_set_gang(job_set, job) if job_set and job and _asks(source) else ""


def _job(source: Pod) -> str:
    job = job_of(source.metadata)
    return job.name if job is not NO_OWNER and _asks(source) else ""


def _asks(source: Pod) -> bool:
    return annotations.ask_for_gang(source.metadata.labels, source.metadata.annotations)


_NAMES: Final[Mapping[GangSource, Callable[[Pod], str]]] = {
    gang_sources.NATIVE: _native,
    gang_sources.POD_GROUP: _pod_group_label,
    gang_sources.ANNOTATION: _annotation,
    gang_sources.JOB_SET: _job_set,
    gang_sources.JOB: _job,
}
_RULES: Final = tuple(
    (source.name, _NAMES[source]) for source in gang_sources.SOURCES if source in _NAMES
)
