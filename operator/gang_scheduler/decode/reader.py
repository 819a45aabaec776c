"""How objects of a kind are read: one half of a row of the table in `state.kinds`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.json import Decoder

from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.wire.base import LONGEST_TEXT, Metadata, cut_text

# Cuts long texts of an object before anything parses them. Users can write a megabyte into a field,
# and a parser may need time for each character or even for each pair of characters. No field that
# is read needs so long a text. A cut text ends with a mark, so it cannot be mistaken for a shorter
# one; its reader refuses it and names its field, while everything else in the object counts.
# Annotations and labels have bounds of their own: see `wire.base`.

Object = Mapping[str, Any]

DEEPEST: Final = 200
"""At most this many levels of nesting are read, as in `watch.known_objects`."""


def bounded(obj: Object) -> Object:
    """Return the object with every overlong text cut; the same object if there is none."""
    try:
        # A fast check in C: nearly all objects are shorter in total than the limit of one text.
        if len(msgspec.json.encode(obj)) <= LONGEST_TEXT:
            return obj
    except (UnicodeEncodeError, RecursionError):
        pass
    found: Object = _bounded(obj, 0)
    return found


def _bounded(value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value.
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else cut_text(value, LONGEST_TEXT)
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {
            cut_text(key, LONGEST_TEXT): _bounded(each, depth + 1) for key, each in value.items()
        }
    if isinstance(value, list):
        return [_bounded(each, depth + 1) for each in value]
    return value


T = TypeVar("T")


class HasMetadata(Protocol):
    """A wire struct of any kind."""

    @property
    def metadata(self) -> Metadata:
        """Its `metadata`."""


W = TypeVar("W", bound=HasMetadata)


@dataclass(frozen=True, slots=True, eq=False)
class Direct(Generic[T]):
    """Decodes bytes without a detour through dicts, for kinds with many events."""

    decoder: Decoder[Any]
    read: Callable[[Any], T]


def direct(struct: type[W], read: Callable[[W], T]) -> Direct[T]:
    """Return how bytes are decoded: into a wire struct, then by `read`, which may raise."""
    return Direct(Decoder(struct), read)


class Unreadable(Enum):
    """What happens to the known state of an object when a newer state cannot be read."""

    FORGET = "forget"
    KEEP = "keep"
    """Keep the earlier state, since without the object more would be allowed."""


WhatHolds = Callable[[Object, InvalidField, T | None], T | None]
"""Returns the part of an unreadable object that still counts, from its fault and its earlier state.
None: no part."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader(Generic[T]):
    """A kind, and how its objects are read.

    `kind` is its name in manifests. `versions` are its API versions, best first. `read` raises
    InvalidField. The functions `read` and `if_unreadable` get objects whose overlong `texts` have
    been cut. `best_version_counts`: a server with several versions shows every object in each of
    them, and older versions have fewer fields, so only the best one is read.
    """

    kind: str
    versions: tuple[GVR, ...]
    read: Callable[[Object], T]
    namespaced: bool = True
    if_unreadable: Unreadable | WhatHolds[T] = Unreadable.FORGET
    direct: Direct[T] | None = None
    best_version_counts: bool = False

    def __post_init__(self) -> None:
        """Apply the bound to all functions of the kind, so that none gets an unbounded object."""
        object.__setattr__(self, "read", _reading_bounded(self.read))
        if not isinstance(self.if_unreadable, Unreadable):
            holds = _holding_of_bounded(self.if_unreadable)
            object.__setattr__(self, "if_unreadable", holds)

    @property
    def gvr(self) -> GVR:
        """The kind in its best version."""
        return self.versions[0]

    @property
    def name(self) -> str:
        """The CRD name of the kind, in any served version."""
        return self.gvr.name


def _reading_bounded(read: Callable[[Object], T]) -> Callable[[Object], T]:
    return lambda obj: read(bounded(obj))


def _holding_of_bounded(rule: WhatHolds[T]) -> WhatHolds[T]:
    return lambda obj, why, known: rule(bounded(obj), why, known)


# The part of an unreadable object that still counts. An object that becomes unreadable must not
# free what it held: room on a node, or the topology request of a gang. And the scheduler makes no
# decision for it: the gang of an unreadable waiting pod waits, and so does a gang that an
# unreadable object describes.

_OF_GANG = ("schedulerName", "schedulingGroup", "schedulingGates")
"""The fields of a pod's spec that tell which gang waits, and for which scheduler."""


class Identity(NamedTuple):
    """The identity of an object. A field is empty if it is missing or not a string."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, as far as the object has them."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def identity(obj: Object) -> Identity:
    """Return the identity of an object, even if its other fields are invalid."""
    metadata = _object(obj.get("metadata"))
    names = ("uid", "namespace", "name", "resourceVersion")
    return Identity(*(_text(metadata.get(each)) for each in names))


def check_readable(found: Identity) -> None:
    """Raise InvalidField for an object without uid or name: it could not be identified."""
    for field, text in (("uid", found.uid), ("name", found.name)):
        if not text:
            raise InvalidField(f"metadata.{field}", None, "is required")


def unreadable_pod(
    obj: Object, why: InvalidField, known: Pod | None, membership: Membership
) -> Pod | None:
    """Return an unreadable pod as it counts on its node, or as it keeps its gang waiting.

    On its node the pod uses the requests of its last readable state, or without one a single pod's
    place. None if it has no node and its metadata is unreadable, too.
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
    """Return a waiting pod with its problem. Without this pod, its gang would look smaller."""
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
    """Return the spec of an unreadable PodGroup: its gang waits, and the fault is the reason."""
    return _pod_group(obj, why, refs.POD_GROUP)


def native_pod_group(obj: Object, why: InvalidField, _: GangObject | None) -> GangObject:
    """Return the spec of an unreadable PodGroup of scheduling.k8s.io: its gang waits, too."""
    return _pod_group(obj, why, refs.NATIVE)


def unreadable_workload(source: GangSource, gvr: GVR) -> WhatHolds[GangObject]:
    """Return the rule for workloads that cannot be decoded: the gang of that name waits.

    Other properties of the workload are unknown, such as how many pods it can have.
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
