"""What the input has of workloads already: their controllers would not create it again."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.workloads import JOB_NAMES

Body = Mapping[str, Any]


class Present:
    """The objects of the input by name, and the pods by their Jobs.

    Nothing is refused here: what cannot be read is found out when it is.
    """

    def __init__(self, documents: Iterable[Document | Problem]) -> None:
        self._names: set[tuple[str, str, str]] = set()
        self._pods: defaultdict[tuple[str, str], dict[str, Body]] = defaultdict(dict)
        for each in documents:
            if isinstance(each, Document):
                self._note(each.body)

    def has(self, body: Body) -> bool:
        """Return whether the input has an object of this kind and name."""
        metadata = body["metadata"]
        return (body["kind"], metadata["namespace"], metadata["name"]) in self._names

    def pods_of(self, job: Document, metadata: Mapping[str, str]) -> list[Body]:
        """Return the pods of a Job; by its uid, too, if it has been on a cluster."""
        uid = metadata["uid"] if job.made_by is None and job.is_from_cluster else ""
        found = self._pods.get((metadata["namespace"], metadata["name"]), {})
        return [pod for pod in found.values() if not uid or _controller(pod).get("uid", uid) == uid]

    def _note(self, body: Body) -> None:
        metadata, kind = _part(body, "metadata"), body.get("kind")
        namespace, name = metadata.get("namespace") or "default", metadata.get("name")
        if not (isinstance(kind, str) and isinstance(namespace, str) and isinstance(name, str)):
            return
        self._names.add((kind, namespace, name))
        job = _job_of(body) if kind == "Pod" else ""
        if job:
            self._pods[(namespace, job)][name] = body


def _job_of(pod: Body) -> str:
    """Return the name of the Job of a pod, "" if it has none."""
    owner, labels = _controller(pod), _part(_part(pod, "metadata"), "labels")
    if owner:
        return str(owner.get("name")) if owner.get("kind") == "Job" else ""
    named = (labels[key] for key in JOB_NAMES if key in labels)
    return str(next(named, ""))


def _controller(pod: Body) -> Body:
    owners = _part(pod, "metadata").get("ownerReferences")
    found = (
        each
        for each in (owners if isinstance(owners, list) else ())
        if isinstance(each, Mapping) and each.get("controller")
    )
    return next(found, {})


def _part(body: Body, name: str) -> Body:
    """Return an object inside of an object, an empty one for anything else."""
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}
