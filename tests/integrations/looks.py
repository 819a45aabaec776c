"""What a pod, or a PodGroup, looks like: as the table of kinds has it."""

import fnmatch
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from e2e.support import waiting
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace

OURS = "py-gang-scheduler.io/"
QUIET_SECONDS = 1.0
TIMEOUT_SECONDS = 60.0
POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups"


def pods(namespace: Namespace, at_least: int) -> list[Manifest]:
    """Return how pods look, in the order of names, once there are so many and no more come."""
    waiting.until(lambda: len(namespace.every("pods")) >= at_least, TIMEOUT_SECONDS)
    time.sleep(QUIET_SECONDS)
    return _in_order(of_pod, namespace.every("pods"))


def pod_groups(namespace: Namespace) -> list[Manifest]:
    """Return how PodGroups look, in the order of names."""
    found = namespace.cluster.request("GET", POD_GROUPS.format(namespace.name))["items"]
    return _in_order(_of_pod_group, found)


def differences(patterns: Iterable[Manifest], seen: Sequence[Manifest]) -> list[str]:
    """Say which patterns nothing looks like, and what looks like none of them."""
    left, missing = list(seen), []
    for pattern in patterns:
        found = next((each for each in left if like(pattern, each)), None)
        if found:
            left.remove(found)
        else:
            missing.append(f"missing: {pattern}")
    return [*missing, *(f"seen: {each}" for each in left)]


def _in_order(look: Callable[[Manifest], Manifest], found: Iterable[Manifest]) -> list[Manifest]:
    return sorted((look(each) for each in found), key=lambda each: str(each["name"]))


def of_pod(pod: Manifest) -> Manifest:
    """Return what tells a pod from others, empty parts left out."""
    metadata, spec = pod["metadata"], pod["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    seen = {
        "name": metadata["name"],
        "generateName": metadata.get("generateName"),
        "owner": _owner(metadata),
        "labels": metadata.get("labels"),
        "annotations": _without_ours(metadata.get("annotations", {})),
        "hostname": spec.get("hostname"),
        "subdomain": spec.get("subdomain"),
        "requests": {
            each["name"]: each["resources"]["requests"]
            for each in containers
            if "requests" in each["resources"]
        },
        "env": sorted({each["name"] for part in containers for each in part.get("env", ())}),
    }
    return {key: value for key, value in seen.items() if value}


def _of_pod_group(group: Manifest) -> Manifest:
    """Return what tells a PodGroup from others, empty parts left out."""
    metadata = group["metadata"]
    seen = {
        "name": metadata["name"],
        "owner": _owner(metadata),
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "spec": group["spec"],
    }
    return {key: value for key, value in seen.items() if value}


def like(pattern: Any, seen: Any) -> bool:
    """Say whether something looks as a pattern says, part by part."""
    if isinstance(pattern, dict) and isinstance(seen, dict):
        return pattern.keys() == seen.keys() and all(like(pattern[k], seen[k]) for k in pattern)
    if isinstance(pattern, str) and isinstance(seen, str):
        return fnmatch.fnmatchcase(seen, pattern)
    return bool(pattern == seen)


def _without_ours(annotations: Mapping[str, str]) -> dict[str, str]:
    """Leave out what the operator has written."""
    return {key: each for key, each in annotations.items() if not key.startswith(OURS)}


def _owner(metadata: Manifest) -> str | None:
    owners = [each for each in metadata.get("ownerReferences", ()) if each.get("controller")]
    return f"{owners[0]['kind']}/{owners[0]['name']}" if owners else None
