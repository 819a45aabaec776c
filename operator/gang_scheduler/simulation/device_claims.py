"""ResourceClaims that kube-controller-manager would create from templates, for the pods of a file.

A pod that names a template gets a claim called POD-ENTRY, unless its status names one. If the entry
is one of its native PodGroup, the group gets the claim, called PODGROUP-ENTRY.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.model.refs import NATIVE
from gang_scheduler.workloads import controllers
from gang_scheduler.workloads.controllers import Present

Body = Mapping[str, Any]
GROUP: Final = "resource.k8s.io"


def with_statuses(
    pod: Body, objects: Container[tuple[str, str, str, str]], present: Present
) -> Body:
    """Return a pod whose status names the claims that were made from templates for it.

    `objects` are all objects, by kind, group, namespace and name.
    """
    known = {each.get("name") for each in _statuses(pod)}
    namespace = pod["metadata"].get("namespace", "default")
    of_group = _of_group(pod, present)
    names = {
        entry: _name(of_group.get((entry, template), pod), entry)
        for entry, template in _templates(pod)
    }
    made = [
        {"name": entry, "resourceClaimName": name}
        for entry, name in names.items()
        if entry not in known and ("ResourceClaim", GROUP, namespace, name) in objects
    ]
    if not made:
        return pod
    status = controllers.part(pod, "status")
    return {**pod, "status": {**status, "resourceClaimStatuses": [*_statuses(pod), *made]}}


def made_for(owner: Body, present: Present) -> Iterator[Body]:
    """Yield the claims to make for a pod or a native PodGroup.

    None are made from a template that is not `present`, and for a pod none that its group has.
    """
    known = {each.get("name") for each in _statuses(owner)}
    namespace = owner["metadata"].get("namespace", "default")
    of_group = _of_group(owner, present)
    for entry, name in _templates(owner):
        template = present.find("ResourceClaimTemplate", GROUP, namespace, name)
        if entry in known or template is None or (entry, name) in of_group:
            continue
        inner = controllers.part(template, "spec")
        yield {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ResourceClaim",
            "metadata": {
                **controllers.part(inner, "metadata"),
                **controllers.owned(owner, _name(owner, entry)),
            },
            "spec": controllers.part(inner, "spec"),
        }


def _of_group(pod: Body, present: Present) -> dict[tuple[str, str], Body]:
    """Return the native PodGroup of a pod, by the entries with their templates that it shares."""
    name = controllers.part(pod, "spec", "schedulingGroup").get("podGroupName")
    namespace = pod["metadata"].get("namespace", "default")
    group = present.find(NATIVE.object_kind, NATIVE.name, namespace, str(name)) if name else None
    return {} if group is None else dict.fromkeys(_templates(group), group)


def _name(owner: Body, entry: str) -> str:
    return f"{owner['metadata']['name']}-{entry}"


def _templates(owner: Body) -> Iterator[tuple[str, str]]:
    """Yield the entries of a pod or PodGroup that name a template, with its name."""
    for each in controllers.parts(owner, "spec", "resourceClaims"):
        if each.get("resourceClaimTemplateName"):
            yield str(each.get("name")), str(each["resourceClaimTemplateName"])


def _statuses(pod: Body) -> list[Body]:
    return controllers.parts(pod, "status", "resourceClaimStatuses")
