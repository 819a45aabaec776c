"""Prepares objects for storage: checks schemas, fills in defaults, and resets the status."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from gang_scheduler.api.kinds import (
    CRDS,
    EVENTS,
    GVR,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
)
from gang_scheduler.api.parsing import PROBLEMS, InvalidField, InvalidFields
from gang_scheduler.client.fake.cluster import Document, now
from gang_scheduler.decode import fields
from gang_scheduler.embedded import pods, structural
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.refusals import Cause, Refused, invalid
from gang_scheduler.model.resources import parse_quantity
from gang_scheduler.simulation.validation import objects as validation

STRICT: Final = "Strict"
NO_QUANTITY: Final = "must be a quantity"
OF_TYPES: Final = ("bool", "float", "int", "string", "dict", "model", "list")
OF_DECODING: Final = {NO_QUANTITY, *(PROBLEMS[f"{each}_type"] for each in OF_TYPES)}
"""Faults that an API server finds while decoding a body: the status is 400, not 422."""
WORDS: Final = 2
STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
JOB_DEFAULTS: Final[Mapping[str, Any]] = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "manualSelector": False,
}
MOST_INDEXED: Final = 2**31 - 1


def prepared(served: Served, document: Document, strictness: str) -> tuple[Document, Sequence[str]]:
    """Return a checked object with defaults, and the fields that its schema does not have.

    Raises Refused.
    """
    _check_metadata(served, document)
    if served.is_custom:
        return _custom(served, document, strictness)
    left_out = "status" if served.has_status else ""
    own = {key: value for key, value in document.items() if key != left_out}
    document, unknown = _pruned(served, document, own, strictness)
    if served.key == EVENTS:
        _check_event(served, document)
    fill = FILLED.get(served.gvr)
    return (fill(document) if fill else document), unknown


def checked_status(
    served: Served, document: Document, strictness: str
) -> tuple[Document, Sequence[str]]:
    """Return an object with a checked status, and the fields that its schema does not have."""
    return _custom(served, document, strictness) if served.is_custom else (document, ())


def as_new(served: Served, document: Document) -> Document:
    """Return a new object with the first status of its kind; it drops a status in the request."""
    if served.gvr == NODES:
        spec = document.get("spec", {})
        return {**document, "spec": spec, "status": document.get("status", {})}
    if not served.has_status or served.gvr in (PODS, CRDS):
        return document
    begun = {key: value for key, value in document.items() if key != "status"}
    return {**begun, "status": dict(BEGUN[served.gvr])} if served.gvr in BEGUN else begun


def check_update(served: Served, old: Document, new: Document) -> None:
    """Refuse to change immutable fields. Raises Refused."""
    if served.gvr == PODS:
        pods.check_update(old, new)
    elif served.gvr == JOBS and not old["spec"].get("suspend"):
        for field in ("template", "completionMode", "completions"):
            if old["spec"].get(field) != new["spec"].get(field):
                cause = Cause(f"spec.{field}", "Invalid value: field is immutable")
                raise invalid("Job", old["metadata"]["name"], [cause])


def established(crd: Document) -> Document:
    """Return a CRD with the conditions of a CRD that is served. Raises Refused if it is invalid."""
    spec, name = crd.get("spec", {}), crd["metadata"]["name"]
    try:
        names, versions = spec["names"], spec["versions"]
        wanted = f"{names['plural']}.{spec['group']}"
        stored = [each["name"] for each in versions if each["storage"]]
        _ = spec["scope"], names["kind"], [each["served"] for each in versions]
    except (KeyError, TypeError) as error:
        cause = Cause("spec", f"Required value: {error}", "FieldValueRequired")
        raise invalid("CustomResourceDefinition", name, [cause]) from error
    if name != wanted:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        raise invalid("CustomResourceDefinition", name, [Cause("metadata.name", text)])
    if len(stored) != 1:
        text = "Invalid value: must have exactly one version marked as storage version"
        raise invalid("CustomResourceDefinition", name, [Cause("spec.versions", text)])
    accepted = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower(), **names}
    same = {"status": "True", "lastTransitionTime": now()}
    known = crd.get("status", {}).get("conditions") or [
        {"type": "NamesAccepted", "reason": "NoConflicts", "message": "no conflicts found", **same},
        {"type": "Established", "reason": "InitialNamesAccepted", **same}
        | {"message": "the initial names have been accepted"},
    ]
    status = {"acceptedNames": accepted, "conditions": known, "storedVersions": stored}
    return {**crd, "spec": {**spec, "names": accepted}, "status": status}


def _check_metadata(served: Served, document: Document) -> None:
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if not name:
        text = "Required value: name or generateName is required"
        cause = Cause("metadata.name", text, "FieldValueRequired")
        raise invalid(served.kind, name, [cause])
    where = {"name": name, "namespace": metadata.get("namespace", "")}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    try:
        if served.gvr.group != RBAC:
            fields.check_name(served.gvr, where)
        fields.check_labels(labels, annotations)
    except InvalidField as error:
        raise invalid(served.kind, name, _causes(error)) from error
    if why := fields.why_refused(served.gvr, name):
        cause = Cause("metadata.name", f'Invalid value: "{name}": {why}')
        raise invalid(served.kind, name, [cause])


def _pruned(
    served: Served, document: Document, own: Document, strictness: str
) -> tuple[Document, Sequence[str]]:
    """Return an object of Kubernetes without the fields that its schema does not have."""
    name = document["metadata"]["name"]
    # managedFields has no schema here.
    body = {**own, "metadata": {k: v for k, v in own["metadata"].items() if k != "managedFields"}}
    try:
        said = validation.unknown_fields(body)
        for each in _pod_specs(served, body):
            _check_quantities(each)
    except InvalidField as error:
        if error.problem in OF_DECODING:
            text = f"{served.kind} in version {served.gvr.version!r} cannot be handled as a "
            raise Refused(400, f"{text}{served.kind}: {error}") from error
        raise invalid(served.kind, name, _causes(error)) from error
    paths = tuple(each.split()[WORDS] for each in said)
    _check_strictness(served, document, paths, strictness)
    if paths:
        document = copy.deepcopy(document)
        for path in paths:
            _drop(document, path)
    return document, paths


def _custom(served: Served, document: Document, strictness: str) -> tuple[Document, Sequence[str]]:
    schema, name = served.schema or {}, document["metadata"]["name"]
    unknown: list[str] = []
    document = structural.pruned(document, schema, unknown)
    _check_strictness(served, document, unknown, strictness)
    document = structural.defaulted(structural.without_nulls(document, schema), schema)
    causes = [each for each in structural.wrong(document, schema) if each.field != "metadata"]
    if causes:
        raise invalid(served.kind, name, causes)
    return document, tuple(unknown)


def _check_strictness(
    served: Served, document: Document, unknown: Sequence[str], strictness: str
) -> None:
    if unknown and strictness == STRICT:
        faults = ", ".join(f'unknown field "{each}"' for each in unknown)
        text = f"{served.kind} in version {served.gvr.version!r} cannot be handled as a "
        text += f"{served.kind}: strict decoding error: {faults}"
        raise Refused(400, text, name=document["metadata"]["name"])


def _pod_specs(served: Served, body: Document) -> Iterator[Document]:
    """Yield the pod specs in an object: its own, or its template's."""
    if served.gvr == PODS:
        yield body["spec"]
    elif served.gvr == JOBS:
        yield body["spec"]["template"]["spec"]


def _check_quantities(spec: Document) -> None:
    """Raise InvalidField for an amount that is no quantity."""
    for part in ("containers", "initContainers"):
        for each in spec.get(part, ()):
            for kind in ("requests", "limits"):
                for name, amount in each.get("resources", {}).get(kind, {}).items():
                    try:
                        parse_quantity(amount)
                    except ValueError as error:
                        where = f"spec.{part}.resources.{kind}[{name}]"
                        raise InvalidField(where, amount, NO_QUANTITY) from error


def _drop(document: Document, path: str) -> None:
    """Remove the field at a path."""
    here: Any = document
    *above, last = (word or int(number) for word, number in STEP.findall(path))
    for step in above:
        here = here[step]
    here.pop(last, None)


def _causes(error: InvalidField) -> list[Cause]:
    """Return faults as causes, worded as by an API server."""
    faults = error.faults if isinstance(error, InvalidFields) else (error,)
    return [_cause(each) for each in faults]


def _cause(fault: InvalidField) -> Cause:
    if fault.value is None and "required" in fault.problem:
        return Cause(fault.field, "Required value", "FieldValueRequired")
    return Cause(fault.field, f'Invalid value: "{fault.value}": {fault.problem}')


def _check_event(served: Served, event: Document) -> None:
    """Refuse an Event of events.k8s.io without its required fields."""
    if served.gvr != EVENTS:
        return
    needed = ("eventTime", "reportingController", "reportingInstance", "action", "reason", "type")
    causes = [
        Cause(each, "Required value", "FieldValueRequired")
        for each in needed
        if not event.get(each)
    ]
    if causes:
        raise invalid("Event", event["metadata"]["name"], causes)


def _job(job: Document) -> Document:
    spec = {**JOB_DEFAULTS, **job["spec"]}
    if spec.get("parallelism") is None and spec.get("completions") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimitPerIndex") is not None and "backoffLimit" not in job["spec"]:
        spec["backoffLimit"] = MOST_INDEXED
    if "podReplacementPolicy" not in spec:
        failed_only = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if failed_only else "TerminatingOrFailed"
    template = spec["template"]
    spec["template"] = {**template, "spec": pods.with_template_defaults(template["spec"])}
    return {**job, "spec": spec}


def _pod(pod: Document) -> Document:
    # An existing pod keeps its status; a new pod gets one.
    is_new = "resourceVersion" not in pod["metadata"]
    return pods.with_defaults(pod) if is_new else pod


def _namespace(namespace: Document) -> Document:
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    spec = {"finalizers": ["kubernetes"], **namespace.get("spec", {})}
    return {**namespace, "metadata": {**metadata, "labels": labels}, "spec": spec}


def _volume(volume: Document) -> Document:
    spec = {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"}
    return {**volume, "spec": {**spec, **volume.get("spec", {})}}


def _claim(claim: Document) -> Document:
    return {**claim, "spec": {"volumeMode": "Filesystem", **claim.get("spec", {})}}


RBAC: Final = "rbac.authorization.k8s.io"
FILLED: Final[Mapping[GVR, Callable[[Document], Document]]] = {
    JOBS: _job,
    NAMESPACES: _namespace,
    PERSISTENT_VOLUMES: _volume,
    PERSISTENT_VOLUME_CLAIMS: _claim,
    PODS: _pod,
}
BEGUN: Final[Mapping[GVR, Mapping[str, Any]]] = {
    JOBS: {},
    NAMESPACES: {"phase": "Active"},
    PERSISTENT_VOLUMES: {"phase": "Pending"},
    PERSISTENT_VOLUME_CLAIMS: {"phase": "Pending"},
    POD_DISRUPTION_BUDGETS: {},
}
