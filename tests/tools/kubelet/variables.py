"""The variables of a container, as pure functions of its pod."""

import re
from collections.abc import Mapping
from typing import Any

from tools.controlplane import errors

Pod = Mapping[str, Any]
REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")
SUBSCRIPTED = re.compile(r"metadata\.(annotations|labels)\['(.*)'\]")
WAIT = ("sleep", "infinity")
FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
}


def container_of(pod: Pod) -> Mapping[str, Any]:
    """Return the container of a pod; there must be one."""
    (container,) = pod["spec"]["containers"]
    found: Mapping[str, Any] = container
    return found


def field(pod: Pod, path: str) -> str:
    """Return the field that a `fieldRef` names; "" for an annotation or label that is not there."""
    if subscripted := SUBSCRIPTED.fullmatch(path):
        where, key = subscripted.groups()
        return str(pod["metadata"].get(where, {}).get(key, ""))
    if path not in FIELDS:
        raise errors.ControlPlaneError(f"the stand-in for kubelets knows no field {path}")
    part, name = FIELDS[path]
    return str(pod[part].get(name, ""))


def variables(pod: Pod, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the container, beside those that each container is given."""
    found = dict(given)
    for each in container_of(pod).get("env", ()):
        source = each.get("valueFrom")
        if source is None:
            found[each["name"]] = expanded(each.get("value", ""), found)
        else:
            found[each["name"]] = field(pod, source["fieldRef"]["fieldPath"])
    return found


def on_this_machine(pod: Pod, value: str) -> str:
    """Return a value with the address of this machine in place of the host names of members."""
    subdomain = pod["spec"].get("subdomain")
    if not subdomain:
        return value
    return re.sub(rf"(?<![\w.-])[\w-]+\.{re.escape(subdomain)}(?![\w.-])", "127.0.0.1", value)


def command(pod: Pod, known: Mapping[str, str]) -> list[str]:
    """Return command and arguments of the container, with variables in them.

    No image is run: a container without a command just waits for its end.
    """
    container = container_of(pod)
    words = [*container.get("command", WAIT), *container.get("args", ())]
    return [expanded(each, known) for each in words]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Return a text with variables in place of `$(NAME)`; unknown ones stay, `$$` is a dollar."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] is None else known.get(match[1], match[0])

    return REFERENCE.sub(value, text)
