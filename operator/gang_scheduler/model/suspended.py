"""Workloads that wait suspended, without pods, and what is decided about them.

A workload with `suspend: true`, a queue and our schedulerName in its templates is a *virtual gang*,
or a group of them: its members are made of the templates, as its controller would make the pods. It
is ordered, charged and placed as other gangs are, and `Gang.suspended` tells it from them.

What a workload says is read so; the states follow from the object alone, so a restart forgets none:

| `suspend` | annotation `admitted-at` | state                                                     |
|-----------|--------------------------|-----------------------------------------------------------|
| true      | absent                   | waits: a virtual gang                                     |
| false     | present                  | admitted: its pods are awaited, or run; it is *managed*   |
| true      | present                  | suspended by a user after its admission: not touched      |
| false     | absent                   | never suspended, or started by a user: not touched        |

What the apply side does:

- `Writers.admit(Admission)`, once a plan places all gangs of a workload. One patch, refused by the
  API server if `resource_version` is not the object's: `suspend: false`, the annotations `queue`,
  `flavors`, `admitted-at` (RFC 3339) and `admitted-to` (the `nodes`), by which a restart goes on to
  keep quota and room for pods that have not come; and for each of `edits` the node labels into the
  `nodeSelector` and the tolerations into the `tolerations` of the template at its `path`. What the
  templates had is kept in an annotation of the same patch. Quota and room are held from then on by
  `cache.suspended`, also while the patch is under way. The outcome goes to
  `cache.suspended.admitted(uid, now)`, or to `cache.suspended.not_admitted(uid, why, now)`, after
  which the workload waits and is tried again with backoff.
- `Writers.suspend(Suspension)`: `suspend: true`, without these annotations, and with the
  templates as they were. The newest version of the object is patched: a conflict is tried again as
  long as the object is still managed. The decision is one of two: pods of an admitted workload did
  not come in time, or the workload is evicted.
- If all pods of a managed workload are victims, none is deleted: the workload is suspended, at the
  moment at which the evictor would delete them. `cache.suspended` knows the pods of each. Other
  victims are deleted as before.
- A `Pod` that is `virtual` is not created yet: it is nominated in the state, nothing is written to
  it.
"""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.pods import PodClass, Toleration

TemplatePath = tuple[str | int, ...]
"""Where in a workload a pod template is: `("spec", "replicatedJobs", 0, ...)`."""


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
    """Why a workload is suspended that was admitted."""

    PODS_MISSING = "PodsMissing"
    """Its pods did not come in time."""
    EVICTED = "Evicted"
    """Another gang gets its room or quota, or its queue is drained."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """The suspension of a managed workload, and its cause."""

    workload: ManagedWorkload
    why: SuspendedFor
