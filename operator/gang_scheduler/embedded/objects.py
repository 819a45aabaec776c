"""The verbs on objects of all kinds, and their refusals: create, replace, patch, delete."""

import copy
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gang_scheduler.api.kinds import CRDS, JOBS, LEASES, NAMESPACES, PODS
from gang_scheduler.client.errors import TERMINATING
from gang_scheduler.client.fake.cluster import Document, FakeCluster, now
from gang_scheduler.embedded import kinds, pods, preparing
from gang_scheduler.embedded.kinds import Kinds, Place, Served
from gang_scheduler.embedded.refusals import Cause, Refused, another, changed, invalid, not_found

LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
OWN: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "selfLink")
"""The fields of the metadata that a client cannot change."""
OF_STATUS_WRITES: Final = ("labels", "annotations", "finalizers", "ownerReferences")
Change = Callable[[Document], Document]


@dataclass(frozen=True, slots=True)
class Options:
    """The query parameters of a write, such as `dryRun` and `fieldValidation`."""

    dry_run: bool = False
    field_validation: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The options of a DELETE request."""

    dry_run: bool = False
    grace_seconds: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""


@dataclass(slots=True)
class Written:
    """An object after a write, and the fields in the request that its schema does not have."""

    document: Document
    unknown: Sequence[str] = ()
    is_new: bool = False


class Objects:
    """The objects of a cluster, and the requests that change them. All may raise Refused."""

    def __init__(self, cluster: FakeCluster, served: Kinds) -> None:
        self.cluster = cluster
        self.kinds = served

    def get(self, served: Served, namespace: str, name: str) -> Document:
        """Return an object as it is stored; do not change it."""
        found = self.cluster.documents(served.key).get((namespace, name))
        if found is None:
            raise not_found(served.resource, name)
        return found

    def create(self, served: Served, namespace: str, body: Document, options: Options) -> Written:
        """Create an object."""
        _check_place(served, namespace, body)
        metadata = body["metadata"] = dict(body.get("metadata") or {})
        if metadata.get("resourceVersion"):
            raise Refused(400, "resourceVersion should not be set on objects to be created")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(
                secrets.choice(LETTERS) for _ in range(5)
            )
        self._check_namespace(served, namespace, metadata.get("name", ""))
        document = kinds.as_stored(served, body)
        for key in (*OWN, "deletionGracePeriodSeconds", "managedFields"):
            metadata.pop(key, None)
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now(), "generation": 1}
        if served.namespaced:
            metadata["namespace"] = namespace
        document, unknown = preparing.prepared(served, document, options.field_validation)
        document = preparing.as_new(served, document)
        if served.gvr == PODS:
            document = pods.admitted(self.cluster, document)
        name = metadata["name"]
        if self.cluster.has(served.key, namespace, name):
            text = f'{served.resource} "{name}" already exists'
            raise Refused(409, text, "AlreadyExists", name=name, kind=served.resource)
        if options.dry_run:
            return Written(document, unknown, is_new=True)
        if served.gvr == CRDS:
            document = self._defined(document)
        return Written(self.cluster.put(served.key, document), unknown, is_new=True)

    def replace(self, place: Place, body: Document, options: Options) -> Written:
        """Replace an object, or its status."""
        served, namespace, name, part = place
        _check_place(served, namespace, body)
        if body.get("metadata", {}).get("name") != name:
            in_body = body.get("metadata", {}).get("name", "")
            raise Refused(
                400,
                f"the name of the object ({in_body}) does not match the name on the URL ({name})",
            )
        version = body["metadata"].get("resourceVersion")
        if not self.cluster.has(served.key, namespace, name) and served.gvr == LEASES and not part:
            body["metadata"].pop("resourceVersion", None)
            if uid := body["metadata"].get("uid"):
                raise another(served.resource, name, "UID", uid, "")
            return self.create(served, namespace, body, options)
        old = self.get(served, namespace, name)
        if not version and (served.is_custom or served.gvr in MUST_NAME_VERSION):
            text = "Invalid value: 0: must be specified for an update"
            raise invalid(served.kind, name, [Cause("metadata.resourceVersion", text)])
        given = body["metadata"].get("uid", old["metadata"]["uid"])
        if given != old["metadata"]["uid"]:
            raise another(served.resource, name, "UID", given, old["metadata"]["uid"])
        new = kinds.as_stored(served, body)
        return self._write(served, old, new, part, options, version=version)

    def patch(self, place: Place, change: Change, options: Options) -> Written:
        """Change an object, or its status."""
        served, namespace, name, part = place
        old = self.get(served, namespace, name)
        new = change(kinds.shown(served, old))
        for key in ("name", "namespace"):
            if new.get("metadata", {}).get(key) != old["metadata"].get(key):
                text = f"the {key} of the object does not match the {key} on the URL"
                raise Refused(400, text)
        version = new["metadata"].get("resourceVersion")
        return self._write(
            served, old, kinds.as_stored(served, new), part, options, version=version
        )

    def change(
        self, served: Served, namespace: str, name: str, change: Callable[[Document], None]
    ) -> Document:
        """Change an object in place, without any check."""
        self.get(served, namespace, name)
        with self.cluster.changing(served.key, namespace, name) as found:
            change(found)
        return found

    def delete(self, served: Served, namespace: str, name: str, asked: Deletion) -> Document:
        """Delete an object; return its last state, or the state in which it still exists."""
        old = self.get(served, namespace, name)
        metadata = old["metadata"]
        if asked.uid and asked.uid != metadata["uid"]:
            raise another(served.resource, name, "UID", asked.uid, metadata["uid"])
        if asked.version and asked.version != metadata["resourceVersion"]:
            found = metadata["resourceVersion"]
            raise another(served.resource, name, "ResourceVersion", asked.version, found)
        if asked.propagation == "Foreground":
            raise Refused(501, "propagationPolicy Foreground is not known here")
        if asked.propagation not in ("", "Background", "Orphan"):
            allowed = '"Foreground", "Background", "Orphan"'
            text = f'Unsupported value: "{asked.propagation}": supported values: {allowed}'
            cause = Cause("propagationPolicy", text, "FieldValueNotSupported")
            raise invalid("DeleteOptions", "", [cause])
        if asked.dry_run:
            return old
        # By default a Job leaves its pods, as in old API versions.
        if (asked.propagation or ("Orphan" if served.gvr == JOBS else "")) == "Orphan":
            self._orphan(metadata["uid"])
        grace = pods.grace_of(old, asked.grace_seconds) if served.gvr == PODS else 0
        if not grace and not metadata.get("finalizers") and served.gvr != NAMESPACES:
            self._remove(served, old)
            return old

        def leave(found: Document) -> None:
            pods.leave(found, grace)
            if served.gvr == NAMESPACES:
                found["status"] = {**found.get("status", {}), "phase": "Terminating"}

        return self.change(served, namespace, name, leave)

    def bind(self, namespace: str, binding: Document, name: str, options: Options) -> None:
        """Bind a pod."""
        served = self.served_pods
        found = copy.deepcopy(self.get(served, namespace, name))
        pods.bind(found, binding)
        if not options.dry_run:
            self._store(served, found)

    def evict(self, namespace: str, name: str, asked: Deletion) -> None:
        """Evict a pod as far as budgets allow."""
        found = self.get(self.served_pods, namespace, name)
        if asked.uid and asked.uid != found["metadata"]["uid"]:
            raise another("pods", name, "UID", asked.uid, found["metadata"]["uid"])
        pods.charge_budgets(self.cluster, found, dry_run=asked.dry_run)
        self.delete(self.served_pods, namespace, name, asked)

    @property
    def served_pods(self) -> Served:
        """The kind of pods."""
        found = self.kinds.find(*PODS)
        assert found is not None  # noqa: S101 - it is in the table.
        return found

    def _write(
        self,
        served: Served,
        old: Document,
        new: Document,
        part: str,
        options: Options,
        *,
        version: str | None,
    ) -> Written:
        """Store the new state of an object, if the request may make this change."""
        name, known = old["metadata"]["name"], old["metadata"]
        if version and version != known["resourceVersion"]:
            raise changed(served.resource, name)
        metadata = dict(new["metadata"])
        if metadata.get("uid", known["uid"]) != known["uid"]:
            text = f'Invalid value: "{metadata["uid"]}": field is immutable'
            raise invalid(served.kind, name, [Cause("metadata.uid", text)])
        for key in (*OWN, "deletionGracePeriodSeconds", "resourceVersion"):
            metadata.pop(key, None)
            if key in known:
                metadata[key] = known[key]
        metadata.pop("managedFields", None)
        new = {**new, "metadata": metadata}
        unknown: Sequence[str] = ()
        if part == "status":
            new = _with_status(served, old, new)
            new, unknown = preparing.checked_status(served, new, options.field_validation)
        else:
            if served.has_status:
                new = {key: value for key, value in new.items() if key != "status"}
                new |= {"status": old["status"]} if "status" in old else {}
            new, unknown = preparing.prepared(served, new, options.field_validation)
            preparing.check_update(served, old, new)
            _check_finalizers(served, old, new)
        if _counts(served, old) != _counts(served, new):
            new["metadata"]["generation"] = known.get("generation", 0) + 1
        if not options.dry_run:
            new = self._store(served, new)
        return Written(new, unknown)

    def _store(self, served: Served, document: Document) -> Document:
        metadata = document["metadata"]
        if served.gvr == CRDS and not metadata.get("deletionTimestamp"):
            document = self._defined(document)
        stored = self.cluster.put(served.key, document)
        leaves = "deletionTimestamp" in metadata and not metadata.get("finalizers")
        if leaves and not metadata.get("deletionGracePeriodSeconds") and served.gvr != NAMESPACES:
            self._remove(served, stored)
        return stored

    def _remove(self, served: Served, document: Document) -> None:
        if served.gvr == CRDS:
            self.kinds.undefine(document)
        metadata = document["metadata"]
        self.cluster.remove(served.key, metadata.get("namespace", ""), metadata["name"])

    def _defined(self, crd: Document) -> Document:
        """Serve the kinds of a CRD, and return the CRD with conditions that say so."""
        crd = preparing.established(crd)
        self.kinds.define(crd)
        return crd

    def _orphan(self, uid: str) -> None:
        """Remove an owner from the metadata of all objects that it owns."""
        for served in self.kinds.all():
            for (namespace, name), each in list(self.cluster.documents(served.key).items()):
                owners = each["metadata"].get("ownerReferences", ())
                if any(owner["uid"] == uid for owner in owners):
                    with self.cluster.changing(served.key, namespace, name) as found:
                        found["metadata"]["ownerReferences"] = [
                            owner for owner in owners if owner["uid"] != uid
                        ]

    def _check_namespace(self, served: Served, namespace: str, name: str) -> None:
        if not served.namespaced:
            return
        found = self.cluster.documents(NAMESPACES).get(("", namespace))
        if found is None:
            raise not_found("namespaces", namespace)
        if "deletionTimestamp" in found["metadata"]:
            text = f"unable to create new content in namespace {namespace} because it is being "
            text += "terminated"
            cause = Cause("metadata.namespace", f"namespace {namespace} is being terminated")
            cause = cause._replace(reason=TERMINATING)
            message = f'{served.resource} "{name}" is forbidden: {text}'
            raise Refused(403, message, causes=[cause], name=name, kind=served.resource)


MUST_NAME_VERSION: Final = frozenset({LEASES, CRDS})
"""Kinds of Kubernetes that can only be replaced with their resourceVersion."""


def _check_place(served: Served, namespace: str, body: Document) -> None:
    """Refuse an object whose kind or namespace differs from the URL."""
    if served.is_custom and not (body.get("apiVersion") and body.get("kind")):
        raise Refused(400, "Object 'Kind' is missing, or its apiVersion")
    for key, wanted in (("apiVersion", served.gvr.api_version), ("kind", served.kind)):
        if body.get(key, wanted) != wanted:
            text = f"{key} {body[key]!r} in the body is not {wanted!r} of the URL"
            raise Refused(400, text)
    if not isinstance(body.get("metadata") or {}, Mapping):
        raise Refused(400, "metadata is no object")
    given = (body.get("metadata") or {}).get("namespace") or namespace
    if given != namespace:
        raise Refused(
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        )


def _check_finalizers(served: Served, old: Document, new: Document) -> None:
    if "deletionTimestamp" not in old["metadata"]:
        return
    before = old["metadata"].get("finalizers") or ()
    added = [each for each in new["metadata"].get("finalizers") or () if each not in before]
    if added:
        text = "Forbidden: no new finalizers can be added if the object is being deleted, found "
        cause = Cause("metadata.finalizers", f"{text}new finalizers {added}", "FieldValueForbidden")
        raise invalid(served.kind, old["metadata"]["name"], [cause])


def _with_status(served: Served, old: Document, new: Document) -> Document:
    """Return an object with a new status and no other change."""
    metadata = dict(old["metadata"])
    if not served.is_custom:
        for key in OF_STATUS_WRITES:
            metadata.pop(key, None)
            if key in new["metadata"]:
                metadata[key] = new["metadata"][key]
    kept = {key: value for key, value in old.items() if key != "status"}
    return {**kept, "metadata": metadata, **({"status": new["status"]} if "status" in new else {})}


def _counts(served: Served, document: Document) -> Any:  # noqa: ANN401
    """Return the part of an object whose changes raise its generation."""
    if not served.is_custom:
        return document.get("spec")
    left_out = {"metadata", "apiVersion", "kind", *(("status",) if served.has_status else ())}
    return {key: value for key, value in document.items() if key not in left_out}
