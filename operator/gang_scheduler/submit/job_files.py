"""Files with a TrainingJob: their fields, and their faults by file and field."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml
from pydantic import ValidationError

from gang_scheduler.model import similar_names
from gang_scheduler.submit.refusals import Faults, of_validation
from gang_scheduler.submit.training_job import TrainingJob

API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
KIND: Final = "TrainingJob"
FIELDS: Final = {
    "metadata.name": "name",
    "metadata.namespace": "namespace",
    "jobType": "job_type",
    "image": "image",
    "command": "command",
    "args": "args",
    "resources.minReplicas": "least",
    "resources.maxReplicas": "most",
    "resources.replicaResources": "resources",
    "resources.gpuType": "gpu_type",
    "resources.topologyConstraint": "topology",
    "schedulingConfig.queue": "queue",
    "schedulingConfig.priority": "priority",
    "schedulingConfig.priorityClass": "priority_class",
    "schedulingConfig.gangScheduling": "gang_scheduling",
    "schedulingConfig.maxWaitTime": "max_wait_time",
    "schedulingConfig.preemptionPolicy": "preemption_policy",
    "elasticConfig.enabled": "enabled",
    "elasticConfig.minWorkers": "min_workers",
    "elasticConfig.maxWorkers": "max_workers",
    "elasticConfig.scalePolicy": "scale_policy",
    "roles": "roles",
    "env": "env",
    "volumes": "volumes",
    "time": "time",
    "expectedDuration": "expected_duration",
    "checkpoint": "checkpoint",
    "template": "template",
    "gpuResource": "gpu_resource",
}
"""The fields of a file, and the job's field for each."""
_PARTS: Final = frozenset({"metadata", "resources", "schedulingConfig", "elasticConfig"})
_PLACES: Final = {field: place for place, field in FIELDS.items()}


def read(text: str, file: str) -> dict[str, Any]:
    """Return the fields of the job in a file. Raises Faults with file, document and field."""
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        raise Faults([f"{file}: {' '.join(str(error).split())}"]) from error
    if len(documents) != 1:
        raise Faults([f"{file}: must have one document, a {KIND}, but has {len(documents)}"])
    place = f"{file}: document 1: "
    (document,) = documents
    if not isinstance(document, Mapping):
        raise Faults([f"{place}must be a {KIND}"])
    found, faults = _collected(document, place)
    faults += [f"{place}{each}" for each in _of_elastic(found)]
    if faults:
        raise Faults(faults)
    return found


def job_of(fields: Mapping[str, Any], place: str = "") -> TrainingJob:
    """Return the job of fields. Raises Faults with the field names used in files."""
    try:
        return TrainingJob.model_validate(fields)
    except ValidationError as error:
        raise of_validation(error, place) from error


def _collected(document: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[str]]:
    found: dict[str, Any] = {}
    faults = []
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if document.get(name) != wanted:
            faults.append(f"{place}{name}: {document.get(name)} must be {wanted}")
    for path, value in _leaves(document):
        if path in FIELDS:
            found[FIELDS[path]] = value
        elif path.partition(".")[0] in _PARTS and "." not in path:
            faults.append(f"{place}{path}: must be a mapping")
        else:
            near = similar_names.close_to(path, list(FIELDS))
            meant = f"; did you mean {near[0]}?" if near else ""
            faults.append(f"{place}{path}: there is no such field{meant}")
    return found, faults


def _leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if name in ("apiVersion", "kind"):
            continue
        if name in _PARTS and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield str(name), value


def _of_elastic(found: dict[str, Any]) -> Iterator[str]:
    """Turn bounds and the topology into fields of a job; yield contradictions."""
    topology = str(found.pop("topology", ""))
    if topology:
        soft = topology.endswith("?")
        found["prefer" if soft else "must"] = topology.removesuffix("?")
    least, most = found.pop("least", None), found.pop("most", None)
    enabled = found.pop("enabled", False)
    bounds = {"minWorkers": found.pop("min_workers", None)}
    bounds["maxWorkers"] = found.pop("max_workers", None)
    pace = found.pop("scale_policy", None)
    least = most if least is None else least
    most = least if most is None else most
    if least is not None:
        found["nodes"] = least if least == most else f"{least}:{most}"
    if not enabled:
        if least != most:
            yield (
                f"{_PLACES['enabled']}: true is required, since resources.minReplicas {least} and "
                f"maxReplicas {most} differ"
            )
        return
    for name, mine in (("minWorkers", least), ("maxWorkers", most)):
        if bounds[name] is not None and bounds[name] != mine:
            of = "minReplicas" if name == "minWorkers" else "maxReplicas"
            yield f"elasticConfig.{name}: {bounds[name]} must be resources.{of}, which is {mine}"
    found["elastic"] = {} if pace is None else {"scalePolicy": pace}
