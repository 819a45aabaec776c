"""Counts requests to the API server by verb and resource, as its own audit log calls them."""

from typing import Final

from gang_scheduler.telemetry import metrics

VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
WATCH: Final = "watch"


def count(method: str, path: str, status: int, seconds: float, *, watches: bool = False) -> None:
    """Count a request, and how long it took; a `status` of 0 is no answer."""
    resource, has_name = _resource_of(path)
    verb = VERBS.get(method) or ("get" if has_name else "list")
    if watches:
        verb = WATCH
    metrics.API_REQUESTS.labels(verb, resource, str(status)).inc()
    metrics.API_SECONDS.labels(verb, resource).observe(seconds)


def _resource_of(path: str) -> tuple[str, bool]:
    """Return the resource of a request with its subresource, and whether one object is named.

    Of a path without a resource, which asks what is served, the resource is `apis`.
    """
    parts = path.partition("?")[0].split("/")
    rest = parts[3:] if parts[1] == "api" else parts[4:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    if not rest:
        return "apis", True
    return "/".join((rest[0], *rest[2:3])), len(rest) > 1
