"""What an API server says of one manifest: refused by field, or with fields that it drops."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.api.parsing import Faults
from gang_scheduler.simulation.validation import pod_specs, schemas, workloads


def is_known(body: Mapping[str, Any]) -> bool:
    """Return whether the schema of an object's kind is known."""
    return schemas.has(body["apiVersion"], body["kind"])


def unknown_fields(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that an API server drops, each with the one that may be meant.

    Raises InvalidField for an object that it refuses, with all that is wrong. An object of a kind
    whose schema is not known is not looked at.
    """
    found = schemas.findings(body)
    if found is None:
        return ()
    faults = Faults()
    for each in found.wrong or workloads.faults(body):
        faults.add(each)
    faults.check()
    return tuple(found.unknown)


def without_limits(pod: Mapping[str, Any]) -> set[str]:
    """Return the resources of a pod that an API server refuses unless something sets a limit."""
    return pod_specs.without_limits(pod.get("spec", {}))
