"""`simulate` makes the pods that the real controllers were seen to make of the same manifests.

What was seen is in tests/integrations/workloads, a file a kind. Names are equal but for random
suffixes, which are 00000 here, and an index where a Job gives its pods a suffix alone.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from support import yaml_texts
from support.expansion import pods_made

SEEN = Path(__file__).parents[1] / "integrations" / "workloads"
NOT_MADE = {"rayjob.yaml": "a-?????"}
"""The pod that submits a RayJob comes when its cluster is ready."""
REQUESTS = {"requests": {"cpu": "1"}}
JOB_KEY, OF_JOB_SETS = "jobset.sigs.k8s.io/job-key", {"jobset.sigs.k8s.io/priority": "0"}
"""JobSet labels all its pods by their priority since 0.11; what was seen is of 0.10."""

Body = dict[str, Any]


def kinds() -> Iterator[Any]:
    for file in sorted(SEEN.glob("*.yaml")):
        read = yaml_texts.read(file.read_text())
        # With flags a controller makes a PodGroup, too, and labels pods with it.
        if "pods" in read and len(read["controller"]) == 1:
            yield pytest.param(file, read, id=file.stem)


@pytest.mark.parametrize(("file", "read"), [*kinds()])
def test_pods_are_those_that_were_seen(file: Path, read: Body) -> None:
    made = pods_made(with_requests(read["workload"]))
    seen = [each for each in read["pods"] if each["name"] != NOT_MADE.get(file.name)]
    left = dict(made)
    for each in seen:
        del left[next(name for name in left if is_like(each, made[name]))]

    assert {} == left


def is_like(seen: Body, made: Mapping[str, Any]) -> bool:
    """Return whether a pod looks as one that was seen."""
    metadata = made["metadata"]
    (owner,) = metadata["ownerReferences"]
    containers = [*made["spec"].get("initContainers", ()), *made["spec"]["containers"]]
    requests = {each["name"]: each["resources"]["requests"] for each in containers}
    return (
        name_is_like(seen["name"], metadata["name"])
        and fnmatchcase(f"{owner['kind']}/{owner['name']}", seen["owner"])
        and texts_are_like(labels_now(seen.get("labels", {})), metadata["labels"])
        and texts_are_like(seen.get("annotations", {}), metadata["annotations"])
        and seen["requests"] == requests
    )


def name_is_like(seen: str, made: str) -> bool:
    of_job = seen.endswith("-?????") and (
        fnmatchcase(made, seen.removesuffix("-?????"))
        or re.fullmatch(re.escape(seen.removesuffix("-?????")) + "-[0-9]+", made)
    )
    return fnmatchcase(made, seen) or bool(of_job)


def labels_now(seen: Mapping[str, str]) -> dict[str, str]:
    return {**(OF_JOB_SETS if JOB_KEY in seen else {}), **seen}


def texts_are_like(seen: Mapping[str, str], made: Mapping[str, str]) -> bool:
    return seen.keys() == made.keys() and all(fnmatchcase(made[key], seen[key]) for key in seen)


def with_requests(value: Any) -> Any:
    """Return a manifest with the requests of all containers as they were when pods were seen."""
    if isinstance(value, list):
        return [with_requests(each) for each in value]
    if not isinstance(value, dict):
        return value
    inside = {key: with_requests(each) for key, each in value.items()}
    if "containers" in inside:
        inside["containers"] = [{**each, "resources": REQUESTS} for each in inside["containers"]]
    return inside
