"""Discovery: the API groups and kinds that clients ask for before they ask for objects."""

from collections.abc import Iterator
from typing import Any, Final

import gang_scheduler
from gang_scheduler.api.kinds import PODS
from gang_scheduler.embedded.kinds import STATUS_VERBS, VERBS, Kinds, Served

KUBERNETES: Final = ("1", "37", "1")
"""The version of Kubernetes that this server imitates: major, minor, patch."""
OF_PODS: Final = {"binding": ("v1", "Binding"), "eviction": ("policy/v1", "Eviction")}
"""The subresources of pods, with API version and kind of the objects that clients send to them."""
Json = dict[str, Any]


def server_version() -> Json:
    """Return the version for `kubectl version`, marked as embedded."""
    major, minor, patch = KUBERNETES
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.{patch}+embedded",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"py-gang-scheduler/{gang_scheduler.__version__}",
    }


def found(kinds: Kinds, path: tuple[str, ...]) -> Json | None:
    """Return the answer for a path that names no object; None if the path is unknown."""
    if path[:1] == ("openapi",):
        return _openapi(kinds, path[1:])
    if path == ("version",):
        return server_version()
    if path == ("api",):
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == ("apis",):
        groups = [_group(group, versions) for group, versions in kinds.groups().items()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    return _of_group(kinds, path)


def _of_group(kinds: Kinds, path: tuple[str, ...]) -> Json | None:
    match path:
        case ("apis", group) if group in kinds.groups():
            return {
                "kind": "APIGroup",
                "apiVersion": "v1",
                **_group(group, kinds.groups()[group]),
            }
        case ("api", "v1"):
            return _resources(kinds, "", "v1")
        case ("apis", group, of_group) if of_group in kinds.groups().get(group, ()):
            return _resources(kinds, group, of_group)
    return None


def _group(group: str, versions: list[str]) -> Json:
    each = [{"groupVersion": f"{group}/{one}", "version": one} for one in versions]
    return {"name": group, "versions": each, "preferredVersion": each[0]}


def _resources(kinds: Kinds, group: str, version: str) -> Json:
    listed = [
        resource
        for served in kinds.all()
        if served.gvr[:2] == (group, version)
        for resource in _of_kind(served)
    ]
    api_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": listed,
    }


def _of_kind(served: Served) -> Iterator[Json]:
    same = {"namespaced": served.namespaced, "kind": served.kind}
    yield {
        "name": served.gvr.plural,
        "singularName": served.singular or served.kind.lower(),
        **same,
        "verbs": list(VERBS),
        **({"shortNames": list(served.short_names)} if served.short_names else {}),
        **({"categories": list(served.categories)} if served.categories else {}),
    }
    if served.has_status:
        name = f"{served.gvr.plural}/status"
        yield {"name": name, "singularName": "", **same, "verbs": list(STATUS_VERBS)}
    for part, (api_version, kind) in OF_PODS.items() if served.gvr == PODS else ():
        group, _, version = api_version.rpartition("/")
        yield {
            "name": f"pods/{part}",
            "singularName": "",
            "namespaced": True,
            **({"group": group, "version": version} if group else {}),
            "kind": kind,
            "verbs": ["create"],
        }


def _group_versions(kinds: Kinds) -> list[tuple[str, str]]:
    return list(dict.fromkeys((each.gvr.group, each.gvr.version) for each in kinds.all()))


def _place(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _openapi(kinds: Kinds, path: tuple[str, ...]) -> Json | None:
    """Return as much of OpenAPI as kubectl needs: it says that the server checks fields."""
    if path == ("v3",):
        urls = (_place(group, version) for group, version in _group_versions(kinds))
        return {"paths": {each: {"serverRelativeURL": f"/openapi/v3/{each}"} for each in urls}}
    place = "/".join(path[1:])
    paths: Json = {}
    for served in kinds.all():
        group, version, plural = served.gvr
        if _place(group, version) != place:
            continue
        where = "/namespaces/{namespace}" if served.namespaced else ""
        paths[f"/{place}{where}/{plural}/{{name}}"] = {
            "patch": {
                "x-kubernetes-group-version-kind": {
                    "group": group,
                    "version": version,
                    "kind": served.kind,
                },
                "parameters": [{"name": "fieldValidation", "in": "query"}],
            }
        }
    if not paths:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": server_version()["gitVersion"]},
        "paths": paths,
        "components": {"schemas": {}},
    }
