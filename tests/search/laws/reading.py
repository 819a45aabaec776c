"""A law on input: whatever is wrong with it is said, and nothing else comes of it."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import UnreadableInput
from search import answers, manifests
from search.cases import Case
from search.manifests import Manifest
from support import device_objects

ODD_VALUES: tuple[Any, ...] = (None, 0, -1, 1.5, 10**30, "", "x", "1e400", True, [], {}, [None])
MUTATIONS = 3


def input_is_read_or_refused(case: Case) -> Iterator[str]:
    """Check that objects with a field that is missing or odd are decided on, or refused."""
    if case.world.seed % 4 != 2:
        return
    dice = Random(case.world.seed)  # noqa: S311 - for worlds, not for secrets.
    for _ in range(MUTATIONS):
        items = [*copy.deepcopy(case.world.documents), *workloads(), *with_devices()]
        where = _change(dice, dice.choice(items))
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        try:
            answers.ask(objects.load(documents.parse("world", text), answers.OURS[0]))
        except UnreadableInput:
            continue
        except Exception as error:  # Whatever the product raises.
            yield f"{where}: {type(error).__name__}: {error}"


def workloads() -> list[Manifest]:
    """Return a Job and a JobSet that are gangs."""
    template = {
        "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}},
        "spec": manifests.pod("unused", {"cpu": 1})["spec"],
    }
    job = manifests.manifest("batch/v1", "Job", "job")
    job_set = manifests.manifest("jobset.x-k8s.io/v1alpha2", "JobSet", "set")
    jobs = {"spec": {"parallelism": 2, "template": copy.deepcopy(template)}}
    replicated = [{"name": "workers", "replicas": 1, "template": jobs}]
    return [
        {**job, "spec": {"parallelism": 2, "completions": 2, "template": template}},
        {**job_set, "spec": {"replicatedJobs": replicated}},
    ]


def with_devices() -> list[Manifest]:
    """Return a native PodGroup and its pods, which claim devices by name and from a template."""
    entry = {"name": "all", "resourceClaimName": "shared"}
    own = {"name": "own", "resourceClaimTemplateName": "one"}
    group = manifests.native_pod_group("claims", 2, spec={"resourceClaims": [entry]})
    spec = {"schedulingGroup": {"podGroupName": "claims"}, "resourceClaims": [entry, own]}
    pods = [manifests.pod(f"claims-{each}", {"cpu": 1}, spec=spec) for each in range(2)]
    offered = device_objects.resource_slice("n0", 2, of_device={"attributes": {"a": {"int": 1}}})
    of_class = device_objects.device_class(extendedResourceName="example.com/gpu")
    made = [device_objects.claim("shared"), device_objects.template("one")]
    return copy.deepcopy([group, *pods, offered, of_class, *made])


def _change(dice: Random, body: Any) -> str:
    """Change one field somewhere in an object, and return which."""
    where = str(body["kind"])
    while True:
        keys = [*range(len(body))] if isinstance(body, list) else sorted(body)
        key = dice.choice(keys)
        inner = body[key]
        where = f"{where}.{key}"
        if isinstance(inner, dict | list) and inner and dice.random() < 0.8:
            body = inner
        elif dice.random() < 0.4:
            del body[key]
            return f"{where} is missing"
        else:
            body[key] = copy.deepcopy(dice.choice(ODD_VALUES))
            return f"{where} is {body[key]!r}"


LAWS = (input_is_read_or_refused,)
