"""What still counts of an object that cannot be read, or not any more.

An unreadable object must not free what it held: room on a node, or the topology request of a gang.
And no decision is made for it: the gang of a waiting pod waits, and a gang that it describes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.reader import Object, WhatHolds
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey

_OF_GANG = ("schedulerName", "schedulingGroup", "schedulingGates")
"""The fields of a pod's spec that say which gang waits, and for which scheduler."""


class Identity(NamedTuple):
    """The identity of an object. A field is empty if it is missing or not a string."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or what there is of it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def identity(obj: Object) -> Identity:
    """Return the identity of an object, whatever its other fields are."""
    metadata = _object(obj.get("metadata"))
    names = ("uid", "namespace", "name", "resourceVersion")
    return Identity(*(_text(metadata.get(each)) for each in names))


def check(found: Identity) -> None:
    """Raise InvalidField for an object without uid or name: it would be mixed up with others."""
    for field, text in (("uid", found.uid), ("name", found.name)):
        if not text:
            raise InvalidField(f"metadata.{field}", None, "is required")


def pod(obj: Object, why: InvalidField, known: Pod | None, membership: Membership) -> Pod | None:
    """Return an unreadable pod as it is counted on its node, or as it keeps its gang waiting.

    On its node the pod uses what it used when it could be read, else the place of one pod. None if
    it has no node, and its metadata cannot be read either.
    """
    metadata, spec, status = (_object(obj.get(part)) for part in ("metadata", "spec", "status"))
    node = _text(spec.get("nodeName")) or (known.node if known else "")
    if not node:
        return _waiting(obj, why, membership)
    found = identity(obj)
    if known is None:
        bare = {"metadata": found._asdict(), "spec": {"nodeName": node}}
        known = replace(pod_decode.pod(bare, membership), phase=PodPhase.UNKNOWN)
    phase = status.get("phase")
    return replace(
        known,
        node=node,
        assumed=False,
        phase=PodPhase(phase) if phase in list(PodPhase) else known.phase,
        deleting=known.deleting or bool(metadata.get("deletionTimestamp")),
    )


def _waiting(obj: Object, why: InvalidField, membership: Membership) -> Pod | None:
    """Return a pod that waits, with its problem: without it, its gang would look smaller."""
    metadata, spec, status = (_object(obj.get(part)) for part in ("metadata", "spec", "status"))
    kept = {name: spec[name] for name in _OF_GANG if name in spec}
    for shown in ({"spec": kept, "status": status}, {"spec": kept}):
        try:
            found = pod_decode.pod({"metadata": metadata, **shown}, membership)
        except InvalidField:
            continue
        text = f"pod {found.key}: {why}"
        return replace(found, problem=Problem(Reason.INVALID_SPEC, InvalidInput(text)))
    return None


def pod_group(obj: Object, why: InvalidField, _: GangObject | None) -> GangObject:
    """Return what a PodGroup says that cannot be read: that its gang waits, and why."""
    return _pod_group(obj, why, gang_sources.POD_GROUP)


def native_pod_group(obj: Object, why: InvalidField, _: GangObject | None) -> GangObject:
    """Return the same of a PodGroup of scheduling.k8s.io."""
    return _pod_group(obj, why, gang_sources.NATIVE)


def workload(source: GangSource, gvr: GVR) -> WhatHolds[GangObject]:
    """Return what tells of a workload that cannot be read: that the gang of its name waits.

    What else it says is not known, such as how many pods it can have.
    """
    return lambda obj, why, _: _described(obj, why, source, gvr)


def _pod_group(obj: Object, why: InvalidField, source: GangSource) -> GangObject:
    group, _, version = _text(obj.get("apiVersion")).partition("/")
    return _described(obj, why, source, GVR(group, version, "podgroups"))


def _described(obj: Object, why: InvalidField, source: GangSource, gvr: GVR) -> GangObject:
    found = identity(obj)
    key = GangKey(source.name, found.namespace, found.name)
    problem = Problem(Reason.INVALID_SPEC, InvalidInput(str(why)))
    spec = GangSpec(key=key, uid=found.uid, gvr=gvr, problem=problem)
    return GangObject(found.uid, (spec,), readable=False)


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    # A name may have a lone surrogate, which cannot be encoded in a request.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
