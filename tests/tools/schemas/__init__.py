"""The schemas of Kubernetes' own kinds that `simulate` holds manifests against.

They are those that an API server publishes below `/openapi/v3`, without what nothing here reads:
descriptions, hints for merging, what only an API server writes, and types of other kinds.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gang_scheduler.simulation.defaults import ALL
from tools.controlplane import access
from tools.controlplane.cluster import Cluster

FILE: Final = (
    Path(__file__).parents[3] / "operator/gang_scheduler/simulation/validation/kubernetes.json"
)
BESIDE: Final = (("apps/v1", "DaemonSet"),)
"""Kinds that are looked at and skipped: a mistake in one is a mistake."""
KEPT: Final = frozenset({"enum", "format", "required", "type"})
REFERENCE: Final = "#/components/schemas/"
PREFIXES: Final = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.")
WRITTEN_BY_SERVERS: Final = frozenset({"status", "managedFields"})
"""Fields of which whatever is given is dropped, or was written by an API server."""
NOT_FOUND: Final = 404
ANYTHING: Final[dict[str, Any]] = {}


def published(cluster: Cluster) -> dict[str, Any]:
    """Return what an API server publishes of the kinds that are read."""
    wanted = {*BESIDE, *((gvr.api_version, each.kind) for each in ALL for gvr in each.versions)}
    kinds: dict[str, str] = {}
    types: dict[str, Any] = {}
    for api_version in sorted({version for version, _ in wanted}):
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        with access.Client(cluster.access) as client:
            reply = client.request("GET", f"/openapi/v3/{path}")
        if reply.status == NOT_FOUND:
            continue  # Of a CRD that is not installed, or of another version of Kubernetes.
        schemas = reply.check().body["components"]["schemas"]
        for name, schema in schemas.items():
            if name.startswith(PREFIXES[0]) and any(
                (api_version, kind) in wanted for kind in _kinds_of(schema, api_version)
            ):
                kind = schema["x-kubernetes-group-version-kind"][0]["kind"]
                kinds[f"{api_version} {kind}"] = _short(name)
                types |= {_short(each): _compact(schemas[each]) for each in _all(name, schemas)}
    return {
        "kubernetes": cluster.request("GET", "/version")["gitVersion"],
        "kinds": dict(sorted(kinds.items())),
        "types": dict(sorted(types.items())),
    }


def text(schemas: Mapping[str, Any]) -> str:
    """Return the content of the file: a type a line, so that a change can be read."""
    lines = [f"  {json.dumps(name)}: {json.dumps(schemas[name])}" for name in ("kubernetes",)]
    for part in ("kinds", "types"):
        inside = ",\n".join(
            f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in schemas[part].items()
        )
        lines.append(f"  {json.dumps(part)}: {{\n{inside}\n  }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _kinds_of(schema: Mapping[str, Any], api_version: str) -> Iterator[str]:
    """Yield the kinds of this version that a type is."""
    for each in schema.get("x-kubernetes-group-version-kind", ()):
        if "/".join(filter(None, (each["group"], each["version"]))) == api_version:
            yield each["kind"]


def _all(name: str, schemas: Mapping[str, Any]) -> Iterable[str]:
    """Return a type, and all that it leads to."""
    found, left = {name}, [name]
    while left:
        for each in set(_references(_compact(schemas[left.pop()], shorten=str))) - found:
            found.add(each)
            left.append(each)
    return found


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(named := schema.get("$ref"), str):
            yield named
        for each in schema.values():
            yield from _references(each)


def _compact(schema: Any, shorten: Callable[[str], str] | None = None) -> dict[str, Any]:
    """Return a schema without what is not used."""
    if "allOf" in schema:  # A reference beside a default.
        (schema,) = schema["allOf"]
    if "oneOf" in schema:  # The types that are written as a number or as a text.
        return {"type": [each["type"] for each in schema["oneOf"]]}
    result: dict[str, Any] = {}
    for keyword, value in sorted(schema.items()):
        if keyword == "properties":
            result[keyword] = {
                name: ANYTHING if _is_written(name, each) else _compact(each, shorten)
                for name, each in sorted(value.items())
            }
        elif keyword in {"items", "additionalProperties"} and isinstance(value, dict):
            result[keyword] = _compact(value, shorten)
        elif keyword == "$ref":
            result[keyword] = (shorten or _short)(value.removeprefix(REFERENCE))
        elif keyword in KEPT:
            result[keyword] = value
    return result


def _is_written(name: str, schema: Mapping[str, Any]) -> bool:
    return name in WRITTEN_BY_SERVERS and schema.get("type") != "string"


def _short(name: str) -> str:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name
