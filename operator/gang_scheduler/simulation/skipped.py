"""Objects of kinds that are not known here: which of them matter all the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from gang_scheduler.simulation.documents import Document


@dataclass(slots=True)
class _Alike:
    """Objects of one kind in one file: the first one, and how many there are."""

    first: Document
    has_pods: bool
    number: int = 0


class Skipped:
    """What was skipped, by file and kind.

    A workload of a manifest, which has a pod template, would have pods that are missing here; the
    pods of one from a cluster are in the input themselves.
    """

    def __init__(self) -> None:
        self._alike: dict[tuple[object, ...], _Alike] = {}
        self.not_expanded = 0

    def add(self, document: Document) -> None:
        """Note a document of an unknown kind."""
        body = document.body
        has_pods = not document.is_from_cluster and has_pod_template(body)
        key = document.file, body["kind"], body["apiVersion"], has_pods
        self._alike.setdefault(key, _Alike(document, has_pods)).number += 1
        self.not_expanded += has_pods

    def lines(self) -> list[str]:
        """Return a line for each kind in each file."""
        return [_line(each) for each in self._alike.values()]


def has_pod_template(value: object) -> bool:
    """Return whether there is a pod's spec somewhere in a value: an object with containers."""
    if isinstance(value, Mapping):
        spec = value.get("spec")
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            return True
        return any(map(has_pod_template, value.values()))
    return isinstance(value, list) and any(map(has_pod_template, value))


def _line(alike: _Alike) -> str:
    body = alike.first.body
    others = f" and {alike.number - 1} more" if alike.number > 1 else ""
    name = f"{alike.first.place}{others}: {body['kind']} ({body['apiVersion']})"
    if alike.has_pods:
        return f"{name} has a pod template, and its pods are not made here; skipped"
    return f"{name} is not a kind that matters here; skipped"
