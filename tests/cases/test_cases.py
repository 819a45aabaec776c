"""Cases as data: manifests in, decisions out, by the code of `simulate`.

A file beside this one is a list of cases:

    - id: what-the-case-says
      manifests: [...]        # Kubernetes objects; see below what may be left out
      settled: true           # as with --until-settled; else one cycle
      schedulers: [a, b]      # as with --scheduler-name
      flags: [--max-victims=3] # of `simulate`, one for each setting that is not the default
      expect: {...}           # what is not named here is not compared

Manifests are as kubectl takes them, but short: `apiVersion` may be left out; `name` stands for
`metadata.name`; `copies: 3` makes three, NAME-0 to NAME-2. A Node has `allocatable`, and room for
110 pods; a Pod has `gang` (the label of its PodGroup), `role` (a label, too), `requests` (of its
one container), `claims` (names), and `priority` and `nodeName` of its spec; a PodGroup has
`minMember`, `roles` (the annotation), and with `started` the condition of one that was whole.

`expect` may name (the namespace `default` is left out in all of them):

    bindings: [pod node, ...]                   # all of them, in the order of the decisions
    bound: {gang: number of pods}               # where it does not matter which node
    victims: [pod, ...]                         # in the order of their names
    nominated: {gang: number of pods}
    unschedulable: [{gang, pods, reason, message}, ...]
    gangs: {gang: {phase, minMember, members, scheduled}}
    problems: [line, ...]                       # the input is refused
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler import from_settings
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.simulation.run import Options, simulate
from support import yaml_texts
from support.flags import policy_of

Case = dict[str, Any]

API_VERSIONS = {
    "PodGroup": "scheduling.sigs.k8s.io/v1alpha1",
    "PriorityClass": "scheduling.k8s.io/v1",
    **dict.fromkeys(
        ("StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"),
        "storage.k8s.io/v1",
    ),
}
OURS = ("py-gang-scheduler",)
KEYS = {
    "gang": ("labels", "pod-group.scheduling.sigs.k8s.io"),
    "role": ("labels", "py-gang-scheduler.io/role"),
    "roles": ("annotations", "py-gang-scheduler.io/roles"),
}
WHOLE = ("bound", "nominated")
WAS_WHOLE = {"type": "Scheduled", "status": "True", "reason": "Scheduled"}


def cases() -> Iterator[Any]:
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        for case in yaml_texts.read(file.read_text()):
            yield pytest.param(case, id=f"{file.stem}-{case['id']}")


@pytest.mark.parametrize("case", [*cases()])
def test_case(case: Case) -> None:
    expected = case["expect"]

    assert expected == like(expected, decided(case))


def decided(case: Case) -> Case:
    """Return the decisions in the words of a case."""
    text = yaml_texts.written_all(expanded(case["manifests"]))
    schedulers = tuple(case.get("schedulers", OURS))
    names = (f"--scheduler-name={each}" for each in schedulers)
    settings = policy_of(*names, *case.get("flags", ()))
    options = Options(settings, case.get("settled", False))
    membership = from_settings.membership(settings)
    try:
        found = objects.load(documents.parse("case", text), schedulers[0], membership=membership)
    except UnreadableInput as error:
        return {"problems": list(error.lines)}
    return in_short(output_document.document(simulate(found, options)))


def in_short(document: Case) -> Case:
    document = without_default(document)
    return {
        "bindings": [f"{each['pod']} {each['node']}" for each in document["bindings"]],
        "bound": dict(Counter(each["gang"] for each in document["bindings"])),
        "victims": sorted(each["pod"] for each in document["victims"]),
        "nominated": dict(Counter(each["gang"] for each in document["nominations"])),
        "unschedulable": document["unschedulable"],
        "gangs": {each["gang"]: each for each in document["gangs"]},
    }


def without_default(value: Any) -> Any:
    """Return the JSON value with names of the namespace default written short."""
    if isinstance(value, dict):
        return {key: without_default(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_default(item) for item in value]
    return value.removeprefix("default/") if isinstance(value, str) else value


def like(expected: Any, actual: Any, inside: str = "") -> Any:
    """Return `actual` with only those keys that `expected` has. Numbers are compared whole."""
    if isinstance(expected, dict) and isinstance(actual, dict) and inside not in WHOLE:
        return {key: like(expected[key], actual.get(key), key) for key in expected}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [like(one, other) for one, other in zip(expected, actual, strict=True)]
    return actual


def expanded(manifests: Iterable[Case]) -> Iterator[Case]:
    """Write short manifests out."""
    for short in manifests:
        copies = short.get("copies")
        if copies is None:
            yield long(short)
        for i in range(copies or 0):
            yield long({**short, "name": f"{short['name']}-{i}"})


def long(short: Case) -> Case:
    body = {"apiVersion": API_VERSIONS.get(short["kind"], "v1"), **short}
    body.pop("copies", None)
    metadata = {**body.get("metadata", {})}
    if "name" in body:
        metadata["name"] = body.pop("name")
    for name in KEYS.keys() & body.keys():
        where, key = KEYS[name]
        metadata[where] = {key: body.pop(name), **metadata.get(where, {})}
    if "requests" in body:
        container = {"resources": {"requests": body.pop("requests")}}
        body["spec"] = {"containers": [container], **body.get("spec", {})}
    if "claims" in body:
        volumes = [{"persistentVolumeClaim": {"claimName": each}} for each in body.pop("claims")]
        body["spec"] = {"volumes": volumes, **body.get("spec", {})}
    if "allocatable" in body:
        offered = {"pods": 110, **body.pop("allocatable")}
        body["status"] = {"allocatable": offered, **body.get("status", {})}
    for field in ("priority", "nodeName"):
        if field in body:
            body["spec"] = {field: body.pop(field), **body.get("spec", {})}
    if body.pop("started", False):
        body["status"] = {"conditions": [WAS_WHOLE], **body.get("status", {})}
    if "minMember" in body:
        body["spec"] = {"minMember": body.pop("minMember"), **body.get("spec", {})}
    return {**body, "metadata": metadata}
