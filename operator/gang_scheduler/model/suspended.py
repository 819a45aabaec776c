"""Workloads that wait suspended, without pods, and the decisions on them.

A workload with `suspend: true`, a queue and our schedulerName in its templates is a *virtual gang*,
or a group of them: its members are made from the templates, as its controller would make the pods.
It is ordered, charged and placed like other gangs; `Gang.suspended` marks it.

The object alone shows the state of a workload, so it survives a restart. With `suspend: true` and
no annotation `admitted-at`, it waits: a virtual gang. With `suspend: false` and the annotation, it
was admitted, and its pods run or will be created: it is *managed*. With `suspend: true` and the
annotation, a user has suspended it after its admission, and it is left alone. With neither, it was
never suspended, or a user has started it, and it is left alone, too.

`Writers.admit(Admission)` is called once a plan places all gangs of a workload. It writes one
patch, which the API server refuses if `resource_version` is outdated. The patch sets `suspend:
false` and the annotations `queue`, `flavors`, `admitted-at` (RFC 3339) and `admitted-to` (the
`nodes`). After a restart, quota and room are kept by these for pods that do not exist yet. For each
of `edits`, the patch adds node labels to the `nodeSelector` and tolerations to the template at its
`path`, and keeps the former values in an annotation. From then on, `cache.suspended` holds quota
and room, also while the patch is in flight. The outcome goes to `cache.suspended.admitted(uid,
now)`, or to `cache.suspended.not_admitted(uid, why, now)`; then the workload waits, and is tried
again with backoff.

`Writers.suspend(Suspension)` sets `suspend: true`, removes these annotations, and restores the
templates. It patches the newest version of the object: after a conflict it tries again, as long as
the object is still managed. This happens if pods of an admitted workload were not created in time,
or if the workload is evicted.

If all pods of a managed workload are victims, none is deleted: the workload is suspended, at the
moment at which the evictor would delete them. `cache.suspended` knows the pods of each workload.
Other victims are deleted.

A `Pod` that is `virtual` does not exist yet: it is nominated only in the state, and nothing is
written to it.
"""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.pods import PodClass

TemplatePath = tuple[str | int, ...]
"""The path of a pod template in a workload: `("spec", "replicatedJobs", 0, ...)`."""


class ManagedWorkload(NamedTuple):
    """A workload that the scheduler suspends and starts.

    `resource_version` is as last seen. `kind` is as in manifests; `uid` is the object's. `edited`:
    its templates still have the additions of an earlier admission.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    edited: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class MemberTemplate(NamedTuple):
    """A pod template of a suspended workload, and the class of its members.

    `path` is () for a template outside of the workload itself, which cannot be edited. `is_late`:
    its pods are created only after others.
    """

    path: TemplatePath
    pod_class: PodClass
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Suspended:
    """Marks a gang without pods, whose workload is suspended; has the templates of its members.

    All gangs of one workload are in one group. Each has only its own templates.
    """

    workload: ManagedWorkload
    templates: tuple[MemberTemplate, ...] = ()


class TemplateEdit(NamedTuple):
    """The additions of the members' flavors to a pod template."""

    path: TemplatePath
    node_labels: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Admission:
    """The start of a suspended workload: the fields to write into it in one patch.

    `queue` is the leaf as bindings name it. `flavors` are pairs of a resource and its flavor; if
    members differ, the first member's. `edits` are for templates that flavors change. `nodes` are
    the planned nodes of all members in their order, "" for a member without a place.
    """

    workload: ManagedWorkload
    queue: str = ""
    flavors: tuple[tuple[str, str], ...] = ()
    edits: tuple[TemplateEdit, ...] = ()
    nodes: tuple[str, ...] = ()


class SuspendedFor(enum.StrEnum):
    """Why an admitted workload is suspended again."""

    PODS_MISSING = "PodsMissing"
    """Its pods were not created in time."""
    EVICTED = "Evicted"
    """Another gang gets its room or quota, or its queue is drained."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """The suspension of a managed workload, and its cause."""

    workload: ManagedWorkload
    why: SuspendedFor
