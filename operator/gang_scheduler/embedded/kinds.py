"""The served kinds: the Kubernetes kinds that gangs need, and the kinds of CRDs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gang_scheduler.api.kinds import CORE_EVENTS, EVENTS, GVR
from gang_scheduler.client.fake.cluster import Document, FakeCluster

VERBS: Final = (
    *("create", "delete", "deletecollection", "get", "list"),
    *("patch", "update", "watch"),
)
STATUS_VERBS: Final = ("get", "patch", "update")
FIELDS_OF_ALL: Final = ("metadata.name", "metadata.namespace")
Schema = Mapping[str, Any]


class Column(NamedTuple):
    """A column of `kubectl get` that a CRD declares."""

    name: str
    type: str
    path: str
    wide: bool


@dataclass(frozen=True, slots=True)
class Served:
    """A kind in one version. Its objects are stored in the version `stored`, if that is set.

    `schema` comes from a CRD. `fields` are the fields that field selectors may name.
    """

    gvr: GVR
    kind: str
    namespaced: bool = True
    has_status: bool = False
    short_names: tuple[str, ...] = ()
    fields: tuple[str, ...] = FIELDS_OF_ALL
    stored: GVR | None = None
    singular: str = ""
    list_kind: str = ""
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    schema: Schema | None = None
    is_custom: bool = False

    @property
    def key(self) -> GVR:
        """The kind under which its objects are stored."""
        return self.stored or self.gvr

    @property
    def list_name(self) -> str:
        """The kind of a list of its objects."""
        return self.list_kind or f"{self.kind}List"

    @property
    def resource(self) -> str:
        """Plural and group, as in messages."""
        return self.gvr.name


class Place(NamedTuple):
    """The target of a request: a kind, an object, or a subresource."""

    served: Served
    namespace: str = ""
    name: str = ""
    part: str = ""


def _of(
    group: str,
    version: str,
    kinds: str,
    **same: Any,  # noqa: ANN401 - fields of a row.
) -> Iterator[Served]:
    """Yield kinds of a group from words such as `pods/Pod/po`."""
    for word in kinds.split():
        plural, kind, *short = word.split("/")
        yield Served(GVR(group, version, plural), kind, short_names=tuple(short), **same)


OF_PODS: Final = (
    *FIELDS_OF_ALL,
    *("spec.nodeName", "spec.schedulerName", "spec.restartPolicy", "spec.serviceAccountName"),
    *("status.phase", "status.nominatedNodeName", "status.podIP"),
)
OF_EVENTS: Final = (
    *FIELDS_OF_ALL,
    *(f"involvedObject.{each}" for each in ("kind", "namespace", "name", "uid", "apiVersion")),
    *(f"regarding.{each}" for each in ("kind", "namespace", "name", "uid", "apiVersion")),
    *("reason", "type", "source", "reportingComponent", "reportingController"),
)
BUILT_IN: Final = (
    *_of("", "v1", "pods/Pod/po", has_status=True, fields=OF_PODS),
    *_of("", "v1", "nodes/Node/no namespaces/Namespace/ns", namespaced=False, has_status=True),
    *_of("", "v1", "persistentvolumes/PersistentVolume/pv", namespaced=False, has_status=True),
    *_of("", "v1", "persistentvolumeclaims/PersistentVolumeClaim/pvc", has_status=True),
    *_of("", "v1", "services/Service/svc replicationcontrollers/ReplicationController/rc"),
    *_of("", "v1", "configmaps/ConfigMap/cm secrets/Secret serviceaccounts/ServiceAccount/sa"),
    *_of("", "v1", "podtemplates/PodTemplate"),
    Served(EVENTS, "Event", short_names=("ev",), fields=OF_EVENTS),
    Served(CORE_EVENTS, "Event", short_names=("ev",), fields=OF_EVENTS, stored=EVENTS),
    *_of("coordination.k8s.io", "v1", "leases/Lease"),
    *_of("batch", "v1", "jobs/Job", has_status=True),
    *_of("policy", "v1", "poddisruptionbudgets/PodDisruptionBudget/pdb", has_status=True),
    *_of("scheduling.k8s.io", "v1", "priorityclasses/PriorityClass/pc", namespaced=False),
    *_of(
        *("storage.k8s.io", "v1", "storageclasses/StorageClass/sc csinodes/CSINode"),
        namespaced=False,
    ),
    *_of("storage.k8s.io", "v1", "csidrivers/CSIDriver", namespaced=False),
    *_of("storage.k8s.io", "v1", "csistoragecapacities/CSIStorageCapacity"),
    *_of("rbac.authorization.k8s.io", "v1", "roles/Role rolebindings/RoleBinding"),
    *_of(
        *("rbac.authorization.k8s.io", "v1"),
        "clusterroles/ClusterRole clusterrolebindings/ClusterRoleBinding",
        namespaced=False,
    ),
    *_of(
        *("apiextensions.k8s.io", "v1", "customresourcedefinitions/CustomResourceDefinition/crd"),
        namespaced=False,
        has_status=True,
    ),
)


class Kinds:
    """The kinds that are served now, including the kinds of CRDs."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._served = {each.gvr: each for each in BUILT_IN}
        self._custom: dict[str, list[GVR]] = {}
        # Called for each kind that is no longer served.
        self.withdrawn: list[Callable[[GVR], None]] = []
        for each in BUILT_IN:
            cluster.serve(each.key)

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """Return a kind by group, version and plural; None if it is not served."""
        return self._served.get(GVR(group, version, plural))

    def by_name(self, api_version: str, kind: str) -> Served | None:
        """Return a kind by apiVersion and kind, as manifests name it; None if it is not served."""
        found = (
            each
            for each in self._served.values()
            if (each.gvr.api_version, each.kind) == (api_version, kind)
        )
        return next(found, None)

    def all(self) -> list[Served]:
        """Return all kinds."""
        return list(self._served.values())

    def groups(self) -> dict[str, list[str]]:
        """Return the versions of each group except the core group, the preferred version first."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._served:
            if group and version not in found.setdefault(group, []):
                found[group].append(version)
        return {group: sorted(versions, key=_age) for group, versions in found.items()}

    def define(self, crd: Document) -> None:
        """Serve the kinds of a CRD; they replace the kinds of an earlier version of the CRD."""
        versions = [each for each in crd["spec"]["versions"] if each.get("served")]
        stored = next(each["name"] for each in crd["spec"]["versions"] if each.get("storage"))
        names, group = crd["spec"]["names"], crd["spec"]["group"]
        key = GVR(group, stored, names["plural"])
        served = [_custom(crd, version, key) for version in versions]
        self._forget(crd["metadata"]["name"])
        self._cluster.serve(key)
        self._cluster.without_status.discard(key)
        if not served or not served[0].has_status:
            self._cluster.without_status.add(key)
        self._served |= {each.gvr: each for each in served}
        self._custom[crd["metadata"]["name"]] = [each.gvr for each in served]

    def undefine(self, crd: Document) -> None:
        """Delete all objects of a CRD, and stop serving it."""
        keys = {self._served[gvr].key for gvr in self._custom.get(crd["metadata"]["name"], ())}
        self._forget(crd["metadata"]["name"])
        for key in keys:
            self._cluster.withdraw(key)
            for tell in self.withdrawn:
                tell(key)

    def _forget(self, name: str) -> None:
        for gvr in self._custom.pop(name, ()):
            del self._served[gvr]


def _custom(crd: Document, version: Document, key: GVR) -> Served:
    names, spec = crd["spec"]["names"], crd["spec"]
    columns = (
        Column(each["name"], each["type"], each["jsonPath"], bool(each.get("priority")))
        for each in version.get("additionalPrinterColumns", ())
    )
    selectable = (each["jsonPath"].lstrip(".") for each in version.get("selectableFields", ()))
    return Served(
        GVR(spec["group"], version["name"], names["plural"]),
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        has_status="status" in version.get("subresources", {}),
        short_names=tuple(names.get("shortNames", ())),
        fields=(*FIELDS_OF_ALL, *selectable),
        stored=key,
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind", ""),
        categories=tuple(names.get("categories", ())),
        columns=tuple(columns),
        schema=version.get("schema", {}).get("openAPIV3Schema", {}),
        is_custom=True,
    )


def _age(version: str) -> tuple[int, int, int]:
    """Return a sort key: v2 before v1, and stable versions before v1beta2, v1beta1 and v1alpha1."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if found is None:
        return (3, 0, 0)
    number, stage, of_stage = found.groups()
    return ({None: 0, "beta": 1, "alpha": 2}[stage], -int(number), -int(of_stage or 0))


def shown(served: Served, document: Document) -> Document:
    """Return an object in the requested version. The stored object does not change."""
    if served.gvr == CORE_EVENTS:
        return _as_core_event(document)
    if document.get("apiVersion") == served.gvr.api_version:
        return document
    return {**document, "apiVersion": served.gvr.api_version, "kind": served.kind}


def as_stored(served: Served, document: Document) -> Document:
    """Return an object in the version in which it is stored."""
    if served.gvr == CORE_EVENTS:
        return _as_new_event(document)
    return {**document, "apiVersion": served.key.api_version, "kind": served.kind}


_RENAMED: Final = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("deprecatedSource", "source"),
)


def _as_core_event(event: Document) -> Document:
    renamed = dict(_RENAMED)
    shown = {renamed.get(key, key): value for key, value in event.items()}
    return {"source": {}, **shown, "apiVersion": "v1", "kind": "Event"}


def _as_new_event(event: Document) -> Document:
    renamed = {core: new for new, core in _RENAMED}
    stored = {renamed.get(key, key): value for key, value in event.items()}
    return {**stored, "apiVersion": EVENTS.api_version, "kind": "Event"}
