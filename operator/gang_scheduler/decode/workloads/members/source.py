"""A workload of the input, with what the input has of it already."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads.members.present import Present, part

Body = Mapping[str, Any]
T = TypeVar("T")
ENDED_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Source:
    """A workload. `from_cluster`: an API server has stored it, or that of which it is made.

    `uid` is that by which its objects name it; "" if they may have another one, as it is made here.
    `notes` are lines on what is not made, and `unknown` those on pods of which nothing is known.
    """

    body: Body
    present: Present = field(default_factory=Present)
    from_cluster: bool = False
    uid: str = ""
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace; "" for an object without one, which no API server sends."""
        return str(self.body["metadata"].get("namespace") or "")

    def read(self, struct: type[T]) -> T:
        """Return it as a wire struct. Raises InvalidField naming the field and the value."""
        return fields.read(self.body, struct)

    def owned(self, kind: str) -> list[Body]:
        """Return the objects of a kind that the input has of it, by their controller."""
        found = self.present.controlled_by(self.body, self.uid)
        return [each for each in found if each["kind"] == kind]

    def pods(self, labels: Mapping[str, str] | None = None) -> list[Body]:
        """Return its pods: by their controller, else, having none, by all of these labels."""
        first = next(iter((labels or {}).items()), None)
        loose = self.present.loose_pods(self.namespace, *first) if first else ()
        return [*self.owned("Pod"), *(each for each in loose if has_labels(each, labels or {}))]

    def pod(self, name: str) -> Body | None:
        """Return a pod of the input, whatever created it: there cannot be two of one name."""
        return self.present.find("Pod", "", self.namespace, name)

    def pod_as_owner(self, name: str, uid: str) -> Body:
        """Return a pod of this name as an owner: that of the input, else one of this uid."""
        known = part(self.pod(name) or {}, "metadata")
        metadata = {"uid": uid, **known, "name": name, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}

    def has_pod(self, name: str) -> bool:
        """Return whether the input has a pod of this name."""
        return self.pod(name) is not None

    def absent(self, pods: Iterable[Body]) -> Iterable[Body]:
        """Yield the pods that are not in the input, of a kind that names its pods for good."""
        return (each for each in pods if not self.has_pod(each["metadata"]["name"]))


def has_labels(body: Body, labels: Mapping[str, str]) -> bool:
    """Return whether an object has all of these labels."""
    own = part(body, "metadata", "labels")
    return all(own.get(key) == value for key, value in labels.items())


def label(body: Body, key: str) -> str:
    """Return the value of a label, "" without it."""
    return str(part(body, "metadata", "labels").get(key, ""))


def is_active(pod: Body) -> bool:
    """Return whether a pod has not ended and is not about to."""
    return not has_ended(pod) and not is_deleting(pod)


def has_ended(pod: Body) -> bool:
    """Return whether a pod has succeeded or failed."""
    return phase(pod) in ENDED_PHASES


def is_deleting(pod: Body) -> bool:
    """Return whether a pod's deletion was asked for."""
    return bool(part(pod, "metadata").get("deletionTimestamp"))


def phase(pod: Body) -> object:
    """Return the phase of a pod, None without one."""
    return part(pod, "status").get("phase")


def is_ready(pod: Body) -> bool:
    """Return whether a pod has the condition Ready."""
    conditions = part(pod, "status").get("conditions")
    return any(
        isinstance(each, Mapping) and (each.get("type"), each.get("status")) == ("Ready", "True")
        for each in (conditions if isinstance(conditions, list) else ())
    )


def required(value: object, where: str) -> None:
    """Raise InvalidField for a field that is absent or empty."""
    if not value:
        raise InvalidField(where, None, "is required")
