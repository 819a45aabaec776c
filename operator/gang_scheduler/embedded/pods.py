"""Defaults, admission, binding and eviction of pods, as an API server does them."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gang_scheduler.api.kinds import POD_DISRUPTION_BUDGETS, PODS, PRIORITY_CLASSES
from gang_scheduler.client.errors import BUDGET
from gang_scheduler.client.fake.cluster import (
    Document,
    FakeCluster,
    now,
    require_unbound,
    set_condition,
)
from gang_scheduler.decode import cluster
from gang_scheduler.embedded.refusals import Cause, Refused, another, invalid
from gang_scheduler.model.selectors import hold

GRACE_SECONDS: Final = 30
ENDED: Final = ("Succeeded", "Failed")
CHANGEABLE: Final = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations")
OF_GATED: Final = ("schedulingGates", "nodeSelector", "affinity")
IMAGES: Final = ("containers", "initContainers")
NO_EXECUTE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
DEFAULTS: Final[Mapping[str, Any]] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": GRACE_SECONDS,
    "securityContext": {},
    "enableServiceLinks": True,
}
SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The PriorityClasses that each API server has."""


def with_defaults(pod: Document) -> Document:
    """Return a pod as it is stored: with defaults in its spec, and a new status."""
    spec = with_template_defaults(pod["spec"])
    spec["containers"] = [_with_requests(each) for each in spec["containers"]]
    status: Document = {"phase": "Pending", "qosClass": _quality(spec)}
    if spec.get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": None,
        }
        status["conditions"] = [gated]
    return {**pod, "spec": spec, "status": status}


def with_template_defaults(spec: Mapping[str, Any]) -> Document:
    """Return the spec of a pod, or of a template, with the fields that an API server fills in."""
    filled = {**DEFAULTS, **copy.deepcopy(dict(spec))}
    for part in IMAGES:
        if part in filled:
            filled[part] = [_container(each) for each in filled[part]]
    return filled


def _container(given: Mapping[str, Any]) -> Document:
    container: Document = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **given,
    }
    if image := container.get("image"):
        latest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    return container


def _with_requests(container: Document) -> Document:
    """Return a container in which a limit without a request is also the request."""
    resources = container["resources"]
    if "limits" not in resources:
        return container
    requests = {**resources["limits"], **resources.get("requests", {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _quality(spec: Mapping[str, Any]) -> str:
    """Return the quality-of-service class of a pod."""
    asked = [
        (part, name, each["resources"].get(part, {}).get(name))
        for each in spec["containers"]
        for part in ("requests", "limits")
        for name in ("cpu", "memory")
    ]
    if not any(value for *_, value in asked):
        return "BestEffort"
    requests = [value for part, _, value in asked if part == "requests"]
    limits = [value for part, _, value in asked if part == "limits"]
    return "Guaranteed" if all(limits) and requests == limits else "Burstable"


def admitted(cluster: FakeCluster, pod: Document) -> Document:
    """Return a pod with the priority and tolerations that admission adds. Raises Refused."""
    name, spec = pod["metadata"]["name"], dict(pod["spec"])
    named = spec.get("priorityClassName", "")
    classes = {key[1]: found for key, found in cluster.documents(PRIORITY_CLASSES).items()}
    if not named:
        named = next((each for each, found in classes.items() if found.get("globalDefault")), "")
    if named:
        if named not in classes:
            text = f"no PriorityClass with name {named} was found"
            raise Refused(403, f'pods "{name}" is forbidden: {text}', name=name, kind="pods")
        spec["priorityClassName"] = named
    value = classes[named].get("value", 0) if named else 0
    if spec.get("priority", value) != value:
        text = "the integer value of priority must not be provided in pod spec; priority admission "
        text += "controller computed it from the given PriorityClass name"
        raise Refused(403, f'pods "{name}" is forbidden: {text}', name=name, kind="pods")
    policy = classes[named].get("preemptionPolicy") if named else None
    spec |= {"priority": value, "preemptionPolicy": policy or "PreemptLowerPriority"}
    spec["tolerations"] = _tolerations(spec.get("tolerations", []))
    return {**pod, "spec": spec}


def _tolerations(given: list[Document]) -> list[Document]:
    """Return tolerations; a node may be lost for five minutes, unless they say otherwise."""
    same = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    own = {each.get("key") for each in given if each.get("effect", "NoExecute") == "NoExecute"}
    if None in own:
        return given
    return [*given, *({"key": key, **same} for key in NO_EXECUTE if key not in own)]


def check_update(old: Document, new: Document) -> None:
    """Refuse to change the immutable fields of a pod. Raises Refused."""
    name, before, after = old["metadata"]["name"], old["spec"], new["spec"]
    gates = [each["name"] for each in before.get("schedulingGates") or ()]
    added = [e["name"] for e in after.get("schedulingGates") or () if e["name"] not in gates]
    if added:
        text = "Forbidden: only deletion is allowed, but found new scheduling gate"
        cause = Cause("spec.schedulingGates", f"{text} '{added[0]}'", "FieldValueForbidden")
        raise invalid("Pod", name, [cause])
    free = {*CHANGEABLE, "schedulingGates", *(OF_GATED if gates else ())}
    if _kept(before, free) != _kept(after, free):
        text = "Forbidden: pod updates may not change fields other than "
        text += "`spec.containers[*].image`, `spec.initContainers[*].image`, "
        text += "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing "
        text += "tolerations), `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
        text += "was previously negative)"
        raise invalid("Pod", name, [Cause("spec", text, "FieldValueForbidden")])
    if any(each not in after.get("tolerations", ()) for each in before.get("tolerations", ())):
        text = "Forbidden: existing toleration can not be modified except its tolerationSeconds"
        raise invalid("Pod", name, [Cause("spec.tolerations", text, "FieldValueForbidden")])


def _kept(spec: Document, free: set[str]) -> Document:
    kept = {key: value for key, value in spec.items() if key not in free and value is not None}
    for part in IMAGES:
        if part in kept:
            kept[part] = [{**each, "image": ""} for each in kept[part]]
    return kept


def bind(pod: Document, binding: Document) -> None:
    """Bind a pod as a Binding says, changing `pod` itself. Raises Refused and ApiError."""
    metadata, target = binding.get("metadata", {}), binding.get("target", {})
    name = pod["metadata"]["name"]
    if target.get("kind", "Node") not in ("", "Node"):
        text = f'Unsupported value: "{target["kind"]}": supported values: "Node", ""'
        raise invalid("Binding", name, [Cause("target.kind", text, "FieldValueNotSupported")])
    if not target.get("name"):
        cause = Cause("target.name", "Required value", "FieldValueRequired")
        raise invalid("Binding", name, [cause])
    uid = metadata.get("uid") or pod["metadata"]["uid"]
    if uid != pod["metadata"]["uid"]:
        raise another("pods/binding", name, "UID", uid, pod["metadata"]["uid"])
    require_unbound(pod, uid)
    pod["spec"]["nodeName"] = target["name"]
    if metadata.get("annotations"):
        pod["metadata"].setdefault("annotations", {}).update(metadata["annotations"])
    set_condition(pod, {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()})
    pod["status"].pop("nominatedNodeName", None)


def grace_of(pod: Document, asked: int | None) -> int:
    """Return the grace period of a pod in seconds: 0 if no kubelet would end it."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ENDED:
        return 0
    own = pod["spec"].get("terminationGracePeriodSeconds", GRACE_SECONDS)
    return max(own if asked is None else asked, 0)


def leave(pod: Document, grace: int) -> bool:
    """Let a pod terminate, by changing it; return whether anything changed.

    A later request can only shorten the grace period.
    """
    metadata = pod["metadata"]
    known = metadata.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" in metadata and known is not None and grace >= known:
        return False
    ends = datetime.now(UTC) + timedelta(seconds=grace)
    metadata["deletionTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def charge_budgets(cluster: FakeCluster, pod: Document, *, dry_run: bool) -> None:
    """Count an eviction on the budget of a running pod.

    Raises Refused if the budget allows no eviction.
    """
    if pod.get("status", {}).get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
        return
    namespace, labels = pod["metadata"].get("namespace", ""), pod["metadata"].get("labels") or {}
    known = cluster.documents(POD_DISRUPTION_BUDGETS)
    covering = [
        name
        for (where, name), each in known.items()
        if where == namespace and _covers(each, labels)
    ]
    if len(covering) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource "
        raise Refused(500, text + "does not support.")
    for name in covering:
        status = known[namespace, name].get("status", {})
        if status.get("disruptionsAllowed", 0) < 1 or not _is_counted(known[namespace, name]):
            text = f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy "
            text += f"pods and has {status.get('currentHealthy', 0)} currently"
            raise Refused(
                *(429, "Cannot evict pod as it would violate the pod's disruption budget."),
                causes=[Cause("", text, BUDGET)],
                retry_after=0 if _is_counted(known[namespace, name]) else 10,
            )
        if not dry_run:
            with cluster.changing(POD_DISRUPTION_BUDGETS, namespace, name) as charged:
                charged["status"]["disruptionsAllowed"] -= 1
                at = charged["status"].setdefault("disruptedPods", {})
                at[pod["metadata"]["name"]] = now()


def _is_counted(budget: Document) -> bool:
    seen = budget.get("status", {}).get("observedGeneration", 0)
    return bool(seen >= budget["metadata"].get("generation", 1))


def _covers(budget: Document, labels: Mapping[str, str]) -> bool:
    selector = cluster.read_uncounted(budget).selector
    return selector is not None and hold(selector, labels)


def get(cluster: FakeCluster, namespace: str, name: str) -> Document:
    """Return a pod as it is stored."""
    return cluster.documents(PODS)[namespace, name]
