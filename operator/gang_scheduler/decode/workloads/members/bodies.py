"""Bodies of objects that controllers create: from a template, with their owner and a name."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import names
from gang_scheduler.decode.names import LONGEST_LABEL
from gang_scheduler.decode.pods.requests import ADDED
from gang_scheduler.wire.pods import PodTemplate

MOST_PODS: Final = 100_000
"""As many pods as an indexed Job can have. A larger number is a mistake, and fills the memory."""

Body = Mapping[str, Any]
Labels = Mapping[str, str]
NONE: Final[Labels] = {}


def pod(
    owner: Body, template: Body, name: str, labels: Labels = NONE, annotations: Labels = NONE
) -> dict[str, Any]:
    """Return a pod of a template; these labels and annotations replace those of the template."""
    made = from_template(template, labels, annotations)
    return {**made, "metadata": {**made["metadata"], **owned(owner, name)}}


def from_template(template: Body, labels: Labels, annotations: Labels) -> dict[str, Any]:
    """Return a pod of a template that has neither name nor owner yet."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": merged(template.get("metadata", {}), labels, annotations),
        "spec": template.get("spec", {}),
    }


def merged(metadata: Body, labels: Labels, annotations: Labels) -> dict[str, Any]:
    """Return labels and annotations of a template, with these in their place."""
    return {
        "labels": {**metadata.get("labels", {}), **labels},
        "annotations": {**metadata.get("annotations", {}), **annotations},
    }


def owned(owner: Body, name: str) -> dict[str, Any]:
    """Return the metadata of an object that the owner's controller creates."""
    given = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": given["name"],
        "uid": given["uid"],
        "controller": True,
    }
    times = {key: given[key] for key in ("creationTimestamp",) if key in given}
    return {
        **times,
        "name": name,
        "namespace": given["namespace"],
        "uid": f"{given['uid']}/{name}",
        "ownerReferences": [reference],
    }


def uid_label(owner: Body) -> str:
    """Return the uid of an object as a value of a label; uids made here may be too long."""
    return str(owner["metadata"]["uid"]).replace("/", "-")[-LONGEST_LABEL:].lstrip("-")


def with_init_container(made: Body, container: Body) -> dict[str, Any]:
    """Return a pod with one more init container, after its own."""
    own = made["spec"].get("initContainers", [])
    return {**made, "spec": {**made["spec"], "initContainers": [*own, container]}}


def with_container(made: Body, container: Body) -> dict[str, Any]:
    """Return a pod, or a template, with one more container, after its own."""
    containers = [*made["spec"]["containers"], container]
    return {**made, "spec": {**made["spec"], "containers": containers}}


def added(name: str) -> dict[str, Any]:
    """Return a container that an operator adds."""
    return {"name": name, "resources": {"requests": dict(ADDED[name])}}


def suffixed(prefix: str, number: int, is_taken: Callable[[str], bool]) -> Iterator[str]:
    """Yield free names in place of random ones: PREFIX00000, PREFIX00001."""
    candidates = (f"{prefix}{i:05d}" for i in itertools.count())
    return itertools.islice((each for each in candidates if not is_taken(each)), max(0, number))


def check_template(template: PodTemplate, where: str, *, given: bool = True) -> None:
    """Raise InvalidField for a template that an API server, or a webhook, refuses.

    Not `given` are templates without containers.
    """
    if not given:
        raise InvalidField(f"{where}.spec.containers", None, "is required")
    metadata = template.metadata
    names.check_labels(metadata.labels, metadata.annotations, f"{where}.metadata")


def check_number(number: int, where: str) -> int:
    """Return the number of pods. Raises InvalidField if it is too large to be meant."""
    if number > MOST_PODS:
        raise InvalidField(where, number, f"must be at most {MOST_PODS} here")
    return number
