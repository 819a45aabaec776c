"""Requests that are sent to the embedded API server and to a real one, in this order.

Each has a name, by which a difference that is wanted is listed, and the fields of the answer that
are compared beside its status and reason. `{ns}` is a namespace that is there and empty.
"""

from typing import Any, Final, NamedTuple

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
PODS: Final = "/api/v1/namespaces/{ns}/pods"
JOBS: Final = "/apis/batch/v1/namespaces/{ns}/jobs"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
GROUPS: Final = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{ns}/podgroups"
BUDGETS: Final = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
CLAIMS: Final = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
MAPS: Final = "/api/v1/namespaces/{ns}/configmaps"
NEW_EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
EVENTS: Final = "/api/v1/namespaces/{ns}/events"
CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
NODES: Final = "/api/v1/nodes"
PARTIAL: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
GPU: Final = "example.com/gpu"


class Request(NamedTuple):
    """A request. `show` are paths in the answer; a number is a place in a list."""

    name: str
    method: str
    path: str
    body: Any = None
    kind: str = "application/json"
    accept: str = "application/json"
    show: tuple[str, ...] = ()


def pod(name: str, *, container: Any = None, labels: Any = None, **spec: Any) -> dict[str, Any]:
    """Return a pod that no scheduler takes."""
    each = {"name": "c", "image": "example.com/none", **(container or {})}
    metadata = {"name": name, "labels": labels or {}}
    kind = {"apiVersion": "v1", "kind": "Pod"}
    return {
        **kind,
        "metadata": metadata,
        "spec": {"schedulerName": "nobody", "containers": [each], **spec},
    }


def job(name: str, **spec: Any) -> dict[str, Any]:
    """Return a Job."""
    template = {"spec": {**pod("")["spec"], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"suspend": True, "template": template, **spec}}


def group(name: str, **spec: Any) -> dict[str, Any]:
    """Return a PodGroup."""
    kind = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**kind, "metadata": {"name": name}, "spec": {"minMember": 2, **spec}}


def lease(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a Lease."""
    return {"metadata": {"name": name, **metadata}, "spec": {"holderIdentity": "a"}}


def event(name: str, **fields: Any) -> dict[str, Any]:
    """Return an Event of events.k8s.io."""
    return {
        "metadata": {"name": name},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "example.com/a",
        "reportingInstance": "a-0",
        "action": "Act",
        "reason": "Acted",
        "type": "Normal",
        "note": "done",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "plain", "namespace": "{ns}"},
        **fields,
    }


def binding(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a Binding of a pod to a node that there is not."""
    metadata = {"name": name, **metadata}
    kind = {"apiVersion": "v1", "kind": "Binding"}
    return {**kind, "metadata": metadata, "target": {"kind": "Node", "name": "n1"}}


def limits(**amounts: Any) -> dict[str, Any]:
    """Return a container with resources."""
    return {"resources": amounts}


OF_PODS: Final = (
    Request(
        *("a pod gets its defaults", "POST", PODS, pod("plain")),
        show=(
            *("status.phase", "status.qosClass", "spec.terminationGracePeriodSeconds"),
            *("spec.restartPolicy", "spec.dnsPolicy", "spec.priority", "spec.preemptionPolicy"),
            *("spec.enableServiceLinks", "spec.securityContext", "spec.tolerations"),
            *("spec.containers.0.imagePullPolicy", "spec.containers.0.terminationMessagePath"),
            *("metadata.generation", "apiVersion", "kind"),
        ),
    ),
    Request("a name is taken", "POST", PODS, pod("plain")),
    Request("a name with capitals", "POST", PODS, pod("Plain")),
    Request("a name that is none", "POST", PODS, {**pod("x"), "metadata": {}}),
    Request("a namespace that is not there", "POST", "/api/v1/namespaces/nowhere/pods", pod("x")),
    Request("no containers", "POST", PODS, {**pod("x"), "spec": {"containers": []}}),
    Request("no spec", "POST", PODS, {"metadata": {"name": "x"}}),
    Request("a text for a number", "POST", PODS, pod("x", terminationGracePeriodSeconds="a")),
    Request("no JSON", "POST", PODS, "{"),
    Request("another kind in the body", "POST", PODS, {**pod("x"), "kind": "Node"}),
    Request("another version in the body", "POST", PODS, {**pod("x"), "apiVersion": "v2"}),
    Request(
        *("another namespace in the body", "POST", PODS),
        {**pod("x"), "metadata": {"name": "x", "namespace": "other"}},
    ),
    Request(
        *("a version in the body of a new one", "POST", PODS),
        {**pod("x"), "metadata": {"name": "x", "resourceVersion": "1"}},
    ),
    Request("a label that is none", "POST", PODS, pod("x", labels={"a": "b c"})),
    Request("a class that is not there", "POST", PODS, pod("x", priorityClassName="none")),
    Request("another priority than that of the class", "POST", PODS, pod("x", priority=7)),
    Request("half a GPU", "POST", PODS, pod("x", container=limits(limits={GPU: "500m"}))),
    Request(
        *("more requested than the limit", "POST", PODS),
        pod("x", container=limits(requests={"cpu": "2"}, limits={"cpu": "1"})),
    ),
    Request(
        "a quantity that is none", "POST", PODS, pod("x", container=limits(limits={"cpu": "x"}))
    ),
    Request(
        *(
            "limits are requests",
            "POST",
            PODS,
            pod("limited", container=limits(limits={"cpu": "1"})),
        ),
        show=("spec.containers.0.resources", "status.qosClass"),
    ),
    Request(
        *("a pod with a gate", "POST", PODS, pod("gated", schedulingGates=[{"name": "a.b/c"}])),
        show=("status.conditions.0.type", "status.conditions.0.reason"),
    ),
    Request(
        *("an unknown field is dropped", "POST", PODS, pod("unknown", hastname="x")),
        show=("spec.hastname",),
    ),
    Request(
        *("an unknown field is refused", "POST", f"{PODS}?fieldValidation=Strict"),
        pod("strict", hastname="x"),
    ),
    Request(
        *("a dry run of a create", "POST", f"{PODS}?dryRun=All", pod("dry")),
        show=("status.phase", "spec.dnsPolicy"),
    ),
    Request("what a dry run created", "GET", f"{PODS}/dry"),
    Request("a dry run of another kind", "POST", f"{PODS}?dryRun=Some", pod("dry")),
    Request(
        *("a name is made up", "POST", PODS, {**pod("x"), "metadata": {"generateName": "made-"}}),
        show=("metadata.generateName",),
    ),
    Request("status is not taken with a new pod", "POST", PODS)._replace(
        body={**pod("begun"), "status": {"phase": "Running"}}, show=("status.phase",)
    ),
    Request("a pod", "GET", f"{PODS}/plain", show=("kind", "apiVersion", "metadata.name")),
    Request("a pod that is not there", "GET", f"{PODS}/none"),
    Request(
        *("pods by label", "GET", f"{PODS}?labelSelector=none%3Dx"),
        show=("kind", "items", "apiVersion"),
    ),
    Request("a label selector that is none", "GET", f"{PODS}?labelSelector=a+b"),
    Request(
        *("pods by field", "GET", f"{PODS}?fieldSelector=metadata.name%3Dplain"),
        show=("items.0.metadata.name", "items.1"),
    ),
    Request("an unknown field selector", "GET", f"{PODS}?fieldSelector=spec.hostname%3Da"),
    Request(
        *("a page of pods", "GET", f"{PODS}?limit=1"),
        show=("items.0.metadata.name", "metadata.remainingItemCount", "items.1"),
    ),
    Request("a token that is none", "GET", f"{PODS}?limit=1&continue=none"),
    Request(
        *("metadata alone", "GET", f"{PODS}?labelSelector=none%3Dx"),
        accept=PARTIAL,
        show=("kind", "apiVersion", "items"),
    ),
    Request(
        *("a table", "GET", f"{PODS}?fieldSelector=metadata.name%3Dplain"),
        accept=TABLE,
        show=(
            *("kind", "rows.0.cells.0", "rows.0.cells.1", "rows.0.cells.2", "rows.0.cells.3"),
            *("columnDefinitions.0.name", "columnDefinitions.1.name", "columnDefinitions.2.name"),
        ),
    ),
    Request("a form that is not known", "GET", PODS, accept="text/html"),
)
WRITES: Final = (
    Request(
        *("a merge patch", "PATCH", f"{PODS}/plain", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        show=("metadata.labels", "metadata.generation"),
    ),
    Request(
        *("a JSON patch", "PATCH", f"{PODS}/plain"),
        [{"op": "add", "path": "/metadata/labels/c", "value": "d"}],
        JSON_PATCH,
        show=("metadata.labels",),
    ),
    Request(
        *("the test of a JSON patch fails", "PATCH", f"{PODS}/plain"),
        [{"op": "test", "path": "/metadata/name", "value": "x"}],
        JSON_PATCH,
    ),
    Request(
        *("a strategic patch", "PATCH", f"{PODS}/plain/status"),
        {"status": {"conditions": [{"type": "A", "status": "True"}]}},
        STRATEGIC,
        show=("status.conditions.0.type",),
    ),
    Request(
        *("conditions are merged by type", "PATCH", f"{PODS}/plain/status"),
        {"status": {"conditions": [{"type": "B", "status": "True"}]}},
        STRATEGIC,
        show=("status.conditions.0.type", "status.conditions.1.type"),
    ),
    Request("a patch that is no JSON", "PATCH", f"{PODS}/plain", "{", MERGE),
    Request("a patch of an unknown kind", "PATCH", f"{PODS}/plain", {}, "application/json"),
    Request("a patch of what is not there", "PATCH", f"{PODS}/none", {}, MERGE),
    Request(
        *("a patch of an old version", "PATCH", f"{PODS}/plain"),
        {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}},
        MERGE,
    ),
    Request(
        *("a patch for another uid", "PATCH", f"{PODS}/plain"),
        {"metadata": {"uid": "other", "labels": {"x": "y"}}},
        MERGE,
    ),
    Request(
        *("an old version is told before another uid", "PATCH", f"{PODS}/plain"),
        {"metadata": {"uid": "other", "resourceVersion": "1"}},
        MERGE,
    ),
    Request("a node by a patch", "PATCH", f"{PODS}/plain", {"spec": {"nodeName": "n1"}}, MERGE),
    Request(
        *("another scheduler by a patch", "PATCH", f"{PODS}/plain"),
        {"spec": {"schedulerName": "x"}},
        MERGE,
    ),
    Request(
        *(
            "a gate is removed",
            "PATCH",
            f"{PODS}/gated",
            {"spec": {"schedulingGates": None}},
            MERGE,
        ),
        show=("spec.schedulingGates",),
    ),
    Request(
        *("a gate is added", "PATCH", f"{PODS}/gated"),
        {"spec": {"schedulingGates": [{"name": "a.b/d"}]}},
        MERGE,
    ),
    Request(
        *("a status is no part of the spec", "PATCH", f"{PODS}/plain"),
        {"status": {"phase": "Running"}},
        MERGE,
        show=("status.phase",),
    ),
    Request(
        *("a spec is no part of the status", "PATCH", f"{PODS}/plain/status"),
        {"spec": {"nodeName": "n1"}, "status": {"nominatedNodeName": "n1"}},
        MERGE,
        show=("spec.nodeName", "status.nominatedNodeName"),
    ),
    Request(
        *("a pod is bound", "POST", f"{PODS}/plain/binding"),
        binding("plain", annotations={"a.b/c": "d"}),
        show=("status",),
    ),
    Request(
        *("what binding changes", "GET", f"{PODS}/plain"),
        show=("spec.nodeName", "status.nominatedNodeName", "metadata.annotations"),
    ),
    Request("a binding without a node", "POST", f"{PODS}/limited/binding")._replace(
        body={**binding("limited"), "target": {}}
    ),
    Request("a binding of another name", "POST", f"{PODS}/limited/binding", binding("plain")),
    Request("a binding that does not say what it is", "POST", f"{PODS}/gated/binding")._replace(
        body={"metadata": {"name": "gated"}, "target": {"kind": "Node", "name": "n1"}}
    ),
    Request("a binding of another kind", "POST", f"{PODS}/limited/binding")._replace(
        body={**binding("limited"), "kind": "Node"}
    ),
    Request(*("a bound pod is bound again", "POST", f"{PODS}/plain/binding"), binding("plain")),
    Request(
        *("a binding for another uid", "POST", f"{PODS}/limited/binding"),
        binding("limited", uid="other"),
    ),
    Request(
        *("a Job gets its defaults", "POST", JOBS, job("job")),
        show=(
            *("spec.parallelism", "spec.completions", "spec.backoffLimit", "spec.completionMode"),
            *("spec.suspend", "spec.podReplacementPolicy", "spec.manualSelector"),
            *("spec.template.spec.dnsPolicy", "spec.template.spec.schedulerName", "status"),
        ),
    ),
    Request(
        *("a Job without restartPolicy", "POST", JOBS),
        {"metadata": {"name": "x"}, "spec": {"template": {"spec": pod("")["spec"]}}},
    ),
    Request(
        *("the generation of a Job counts its spec", "PATCH", f"{JOBS}/job"),
        {"spec": {"parallelism": 3}},
        MERGE,
        show=("metadata.generation",),
    ),
    Request(
        *("a change of labels is no generation", "PATCH", f"{JOBS}/job"),
        {"metadata": {"labels": {"a": "b"}}},
        MERGE,
        show=("metadata.generation", "metadata.labels.a"),
    ),
    Request("a lease is made by a PUT", "PUT", f"{LEASES}/a", lease("a"), show=("spec",)),
    Request("a PUT of a lease without a version", "PUT", f"{LEASES}/a", lease("a")),
    Request(
        *("a PUT of a lease of an old version", "PUT", f"{LEASES}/a"),
        lease("a", resourceVersion="1"),
    ),
    Request("a PUT with another name", "PUT", f"{LEASES}/a", lease("b")),
    Request("a PUT of a pod that is not there", "PUT", f"{PODS}/none", pod("none")),
    Request("a map", "POST", MAPS, {"metadata": {"name": "m"}, "data": {"a": "b"}}, show=("data",)),
)
CUSTOM: Final = (
    Request(
        *("a PodGroup", "POST", GROUPS, group("g")),
        show=("spec", "metadata.generation", "kind", "apiVersion"),
    ),
    Request("a PodGroup without minMember", "POST", GROUPS, {**group("x"), "spec": {}}),
    Request("a text for the minMember of a PodGroup", "POST", GROUPS, group("x", minMember="2")),
    Request("a minMember below 1", "POST", GROUPS, group("x", minMember=0)),
    Request(
        *("an unknown field of a PodGroup is dropped", "POST", GROUPS, group("h", minMembers=2)),
        show=("spec",),
    ),
    Request(
        *("an unknown field of a PodGroup is refused", "POST", f"{GROUPS}?fieldValidation=Strict"),
        group("i", minMembers=2),
    ),
    Request("a PodGroup without a kind", "POST", GROUPS, {"metadata": {"name": "j"}})._replace(
        body={"metadata": {"name": "j"}, "spec": {"minMember": 1}}
    ),
    Request("a strategic patch of a PodGroup", "PATCH", f"{GROUPS}/g", {}, STRATEGIC),
    Request(
        *("the generation of a PodGroup", "PATCH", f"{GROUPS}/g"),
        {"spec": {"minMember": 3}, "status": {"phase": "Running"}},
        MERGE,
        show=("metadata.generation", "spec.minMember", "status"),
    ),
    Request(
        *("the status of a PodGroup", "PATCH", f"{GROUPS}/g/status"),
        {"spec": {"minMember": 9}, "status": {"phase": "Running"}},
        MERGE,
        show=("metadata.generation", "spec.minMember", "status.phase"),
    ),
    Request("a part that there is not", "PATCH", f"{GROUPS}/g/scale", {}, MERGE),
    Request("a PUT of a PodGroup without a version", "PUT", f"{GROUPS}/g", group("g")),
    Request(
        *("a table of PodGroups", "GET", GROUPS),
        accept=TABLE,
        show=("columnDefinitions.1.name", "rows.0.cells.0", "rows.0.cells.1", "rows.0.cells.2"),
    ),
    Request("server-side apply", "PATCH", f"{GROUPS}/g?fieldManager=a", group("g"), APPLY),
)
OTHERS: Final = (
    Request("a class", "POST", CLASSES, {"metadata": {"name": "{ns}-c"}, "value": 7}),
    Request(
        *("a class that preempts nobody", "POST", CLASSES),
        {"metadata": {"name": "{ns}-n"}, "value": 8, "preemptionPolicy": "Never"},
    ),
    Request(
        *("the priority of a class", "POST", PODS, pod("classy", priorityClassName="{ns}-n")),
        show=("spec.priority", "spec.preemptionPolicy"),
    ),
    Request(
        *("a node keeps the status that it comes with", "POST", NODES),
        {"metadata": {"name": "{ns}-node"}, "status": {"allocatable": {"cpu": "1"}}},
        show=("status.allocatable",),
    ),
    Request(
        *("taints are merged by key", "PATCH", f"{NODES}/{{ns}}-node"),
        {"spec": {"taints": [{"key": "a.b/c", "effect": "NoSchedule"}]}},
        STRATEGIC,
        show=("spec.taints.0.key", "spec.taints.0.effect"),
    ),
    Request("an Event", "POST", NEW_EVENTS, event("e"), show=("note", "reason", "regarding.name")),
    Request("an Event without an action", "POST", NEW_EVENTS, event("f", action="")),
    Request(
        *("the same Event in the core group", "GET", f"{EVENTS}/e"),
        show=("message", "involvedObject.name", "kind", "apiVersion", "reason"),
    ),
    Request(
        *("Events about an object", "GET", f"{EVENTS}?fieldSelector=involvedObject.name%3Dplain"),
        show=("items.0.message", "items.1"),
    ),
    Request(
        *("a claim", "POST", CLAIMS),
        {
            "metadata": {"name": "c"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
        show=("status.phase", "spec.volumeMode"),
    ),
    Request(
        *("a budget", "POST", BUDGETS),
        {
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"p": "q"}}},
        },
        show=("metadata.generation",),
    ),
    Request("an eviction for another uid", "POST", f"{PODS}/classy/eviction")._replace(
        body={
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "classy"},
            "deleteOptions": {"preconditions": {"uid": "other"}},
        }
    ),
    Request("a kind that there is not", "GET", "/api/v1/nothings"),
    Request("a group that there is not", "GET", "/apis/example.com/v1/things"),
    Request("a way that there is not", "POST", "/api/v1/pods", pod("x")),
    Request("a PUT of a list", "PUT", PODS, pod("x")),
    Request("the groups", "GET", "/apis", show=("kind",)),
    Request("the versions", "GET", "/api", show=("kind", "versions")),
)
DELETIONS: Final = (
    Request("another uid is not deleted", "DELETE", f"{PODS}/plain")._replace(
        body={"preconditions": {"uid": "other"}}
    ),
    Request("another version is not deleted", "DELETE", f"{PODS}/plain")._replace(
        body={"preconditions": {"resourceVersion": "1"}}
    ),
    Request("a dry run of a deletion", "DELETE", f"{PODS}/plain?dryRun=All"),
    Request("it is still there", "GET", f"{PODS}/plain", show=("metadata.deletionTimestamp",)),
    Request(
        *("a bound pod has its time", "DELETE", f"{PODS}/plain", {"gracePeriodSeconds": 60}),
        show=("metadata.deletionGracePeriodSeconds", "kind"),
    ),
    Request(
        *("its time is not lengthened", "DELETE", f"{PODS}/plain", {"gracePeriodSeconds": 90}),
        show=("metadata.deletionGracePeriodSeconds",),
    ),
    Request(
        *("its time is shortened", "DELETE", f"{PODS}/plain", {"gracePeriodSeconds": 20}),
        show=("metadata.deletionGracePeriodSeconds",),
    ),
    Request(
        *("no finalizer is added during deletion", "PATCH", f"{PODS}/plain"),
        {"metadata": {"finalizers": ["a.b/c"]}},
        MERGE,
    ),
    Request("it is killed", "DELETE", f"{PODS}/plain", {"gracePeriodSeconds": 0}, show=("kind",)),
    Request("it is gone", "GET", f"{PODS}/plain"),
    Request("a pod without a node goes at once", "DELETE", f"{PODS}/limited", show=("kind",)),
    Request("that one is gone, too", "GET", f"{PODS}/limited"),
    Request("a deletion of what is not there", "DELETE", f"{PODS}/none"),
    Request("what is deleted is told", "DELETE", f"{GROUPS}/g", show=("kind", "status")),
    Request("an unknown propagation", "DELETE", f"{GROUPS}/h?propagationPolicy=Sideways"),
    Request("all Jobs", "DELETE", f"{JOBS}?propagationPolicy=Background", show=("kind",)),
    Request("no Job is left", "GET", JOBS, show=("items", "kind")),
)
REQUESTS: Final = (*OF_PODS, *WRITES, *CUSTOM, *OTHERS, *DELETIONS)
