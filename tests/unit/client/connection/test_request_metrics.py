"""Requests are counted as the API server's own log calls them."""

import pytest

from gang_scheduler.client import connection
from support.metric_values import growing

POD = "/api/v1/namespaces/ns/pods/a-0"


@pytest.mark.parametrize(
    ("method", "path", "verb", "resource"),
    [
        ("POST", f"{POD}/binding", "create", "pods/binding"),
        ("POST", f"{POD}/eviction?dryRun=All", "create", "pods/eviction"),
        ("PATCH", f"{POD}/status", "patch", "pods/status"),
        ("DELETE", POD, "delete", "pods"),
        ("GET", POD, "get", "pods"),
        ("GET", "/api/v1/pods?limit=500&continue=", "list", "pods"),
        ("GET", "/api/v1/namespaces?limit=500", "list", "namespaces"),
        ("GET", "/api/v1/nodes/n1", "get", "nodes"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", "update", "leases"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/ns/events", "create", "events"),
        ("GET", "/apis/resource.k8s.io/v1", "get", "apis"),
    ],
)
def test_a_request_is_counted_by_verb_and_resource(
    method: str, path: str, verb: str, resource: str
) -> None:
    with (
        growing("pgs_api_requests_total") as requests,
        growing("pgs_api_request_seconds_sum") as seconds,
    ):
        connection.count_request(method, path, 201, 0.25)

    assert {("201", resource, verb): 1} == requests
    assert {(resource, verb): 0.25} == seconds


def test_a_watch_is_no_list() -> None:
    with growing("pgs_api_requests_total") as requests:
        connection.count_request("GET", "/api/v1/pods?watch=true", 200, 0.1, watches=True)

    assert {("200", "pods", "watch"): 1} == requests
