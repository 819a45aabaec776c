"""The embedded API server over HTTP: watches, kinds of CRDs, controllers, and what it refuses."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import msgspec
import pytest

from gang_scheduler.api.kinds import (
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    QUEUES,
)
from gang_scheduler.embedded.objects import Options
from gang_scheduler.embedded.server import Server
from support import cpu, yaml_texts

PATIENCE_SECONDS = 20.0
QUEUE_CRD = yaml_texts.read(
    (Path(__file__).parents[2] / "crds" / "queues.py-gang-scheduler.io.yaml").read_text()
)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "default"
QUEUE = {"apiVersion": QUEUES.api_version, "kind": "Queue"}


class Client:
    """Sends requests, and returns status and body."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def __call__(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, Any]:
        """Send one."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": kind}
        url = self.server.url + path
        async with self._session.request(method, url, data=content, headers=headers) as answer:
            return answer.status, await answer.json()

    async def status(self, method: str, path: str, body: Any = None) -> int:
        """Send a request whose answer may be no JSON; return its status."""
        url, content = self.server.url + path, msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"}
        async with self._session.request(method, url, data=content, headers=headers) as answer:
            return answer.status

    async def lines(self, path: str, *, count: int) -> list[dict[str, Any]]:
        """Return the first lines of a watch."""
        found: list[dict[str, Any]] = []
        async with self._session.get(self.server.url + path) as answer:
            with anyio.fail_after(PATIENCE_SECONDS):
                while len(found) < count and (line := await answer.content.readline()):
                    found.append(msgspec.json.decode(line))
        return found

    async def until(self, path: str, done: Callable[[Any], bool]) -> Any:
        """Read an object until something is so."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                _, found = await self("GET", path)
                if done(found):
                    return found
                await asyncio.sleep(0.01)


@pytest.fixture
def made() -> Server:
    return Server()


@pytest.fixture
async def client(made: Server) -> AsyncIterator[Client]:
    async with made, aiohttp.ClientSession() as session:
        yield Client(made, session)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "example.com/none"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def eviction(name: str) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


async def bound(client: Client, name: str, on: str = "n1") -> None:
    path = f"{PODS.path(NAMESPACE, name)}/binding"
    target = {"kind": "Node", "name": on}
    metadata = {"name": name}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    status, _ = await client("POST", path, binding)
    assert 201 == status


# What it is.


async def test_it_says_that_it_is_no_real_one(client: Client) -> None:
    _, version = await client("GET", "/version")

    assert version["gitVersion"].endswith("+embedded")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothings", 404),
        ("GET", "/apis/batch/v1/cronjobs", 404),
        ("GET", "/api/v1/namespaces/default/pods/w/log", 404),
        ("POST", "/api/v1/pods", 405),
        ("PUT", "/api/v1/namespaces/default/pods", 405),
        ("GET", "/api/v1/namespaces/default/pods/w/binding", 405),
        ("PATCH", "/apis/batch/v1/namespaces/default/jobs/j", 404),
    ],
)
async def test_what_it_does_not_know_it_refuses(
    client: Client, method: str, path: str, status: int
) -> None:
    answered, body = await client(method, path, {} if method in ("POST", "PUT", "PATCH") else None)

    assert (status, "Status", "Failure") == (answered, body["kind"], body["status"])


async def test_server_side_apply_is_refused(client: Client) -> None:
    await client("POST", PODS.path(NAMESPACE), pod("w"))

    kind = "application/apply-patch+yaml"
    status, _ = await client("PATCH", PODS.path(NAMESPACE, "w"), pod("w"), kind)

    assert 415 == status


async def test_pages_in_a_browser_are_refused(client: Client) -> None:
    url = client.server.url + "/api/v1/pods"
    headers = {"Origin": "http://example.com"}
    async with aiohttp.ClientSession() as page, page.get(url, headers=headers) as answer:
        assert 403 == answer.status


# Watches.


async def test_a_watch_tells_what_has_changed_since_a_version(client: Client) -> None:
    await client("POST", PODS.path(NAMESPACE), pod("before"))
    _, listed = await client("GET", PODS.path())
    await client("POST", PODS.path(NAMESPACE), pod("w"))
    await bound(client, "w")
    await client("DELETE", PODS.path(NAMESPACE, "w"), {"gracePeriodSeconds": 0})

    version = listed["metadata"]["resourceVersion"]
    told = await client.lines(f"{PODS.path()}?watch=1&resourceVersion={version}", count=3)

    assert ["ADDED", "MODIFIED", "DELETED"] == [each["type"] for each in told]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in told]
    assert sorted(set(versions)) == versions


async def test_a_watch_with_a_selector_tells_of_those_that_come_and_go(client: Client) -> None:
    _, listed = await client("GET", PODS.path())
    await client("POST", PODS.path(NAMESPACE), pod("w"))
    await bound(client, "w")
    merge = "application/merge-patch+json"
    for value in ("a", None):
        patch = {"metadata": {"labels": {"l": value}}}
        await client("PATCH", PODS.path(NAMESPACE, "w"), patch, merge)

    query = f"watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
    by_label = await client.lines(f"{PODS.path()}?{query}&labelSelector=l=a", count=2)
    by_field = await client.lines(f"{PODS.path()}?{query}&fieldSelector=spec.nodeName=n1", count=3)

    assert ["ADDED", "DELETED"] == [each["type"] for each in by_label]
    assert ["ADDED", "MODIFIED", "MODIFIED"] == [each["type"] for each in by_field]


async def test_a_version_that_is_forgotten_is_gone(client: Client) -> None:
    _, listed = await client("GET", PODS.path())
    await client("POST", PODS.path(NAMESPACE), pod("w"))
    client.server.changes.compact()

    version = listed["metadata"]["resourceVersion"]
    (told,) = await client.lines(f"{PODS.path()}?watch=1&resourceVersion={version}", count=1)

    assert ("ERROR", 410, "Expired") == (
        told["type"],
        told["object"]["code"],
        told["object"]["reason"],
    )


async def test_a_version_of_an_earlier_life_is_gone(client: Client) -> None:
    (told,) = await client.lines(f"{PODS.path()}?watch=1&resourceVersion=7", count=1)

    assert ("ERROR", 410) == (told["type"], told["object"]["code"])


async def test_a_watch_ends_in_time_and_without_an_error(client: Client) -> None:
    path = f"{PODS.path()}?watch=1&timeoutSeconds=1&resourceVersion={client.server.cluster.version}"

    assert [] == await client.lines(path, count=1)


async def test_a_watch_may_begin_with_all_that_there_is(client: Client) -> None:
    await client("POST", PODS.path(NAMESPACE), pod("w"))

    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    told = await client.lines(f"{PODS.path()}?{query}&allowWatchBookmarks=true", count=2)

    assert ["ADDED", "BOOKMARK"] == [each["type"] for each in told]
    assert {"k8s.io/initial-events-end": "true"} == told[1]["object"]["metadata"]["annotations"]


# Kinds of CRDs.


async def test_a_kind_is_served_for_as_long_as_its_crd_is_there(client: Client) -> None:
    queue = {**QUEUE, "metadata": {"name": "blue"}, "spec": {}}
    before = await client.status("POST", QUEUES.path(), queue)
    await client("POST", CRDS, QUEUE_CRD)
    made, _ = await client("POST", QUEUES.path(), queue)
    version = client.server.cluster.version
    watch = asyncio.create_task(
        client.lines(f"{QUEUES.path()}?watch=1&resourceVersion={version}", count=2)
    )
    await asyncio.sleep(0.1)
    await client("DELETE", f"{CRDS}/{QUEUES.name}")
    after = await client.status("GET", QUEUES.path())

    assert (404, 201, 404) == (before, made, after)
    # The watch ends with the kind.
    assert ["DELETED"] == [each["type"] for each in await watch]


async def test_objects_of_a_crd_are_held_against_its_schema(client: Client) -> None:
    await client("POST", CRDS, QUEUE_CRD)

    bad = {**QUEUE, "metadata": {"name": "blue"}, "spec": {"weight": {}, "quota": []}}
    refused, status = await client("POST", QUEUES.path(), bad)
    unknown = {**QUEUE, "metadata": {"name": "blue"}, "spec": {"wieght": 1}}
    strict, _ = await client("POST", f"{QUEUES.path()}?fieldValidation=Strict", unknown)
    _, stored = await client("POST", QUEUES.path(), unknown)

    assert (422, 400) == (refused, strict)
    assert "spec.quota" in {each["field"] for each in status["details"]["causes"]}
    assert "wieght" not in stored["spec"]


# Lists.


async def test_a_list_comes_in_pages(client: Client) -> None:
    for number in range(5):
        await client("POST", PODS.path(NAMESPACE), pod(f"w-{number}"))

    names: list[str] = []
    following = ""
    while following is not None:
        _, page = await client("GET", f"{PODS.path()}?limit=2&continue={following}")
        assert len(page["items"]) <= 2
        names += [each["metadata"]["name"] for each in page["items"]]
        following = page["metadata"].get("continue")

    assert [f"w-{number}" for number in range(5)] == names


async def test_a_token_that_is_none_is_refused(client: Client) -> None:
    status, _ = await client("GET", f"{PODS.path()}?limit=2&continue=nothing")

    assert 400 == status


async def test_a_collection_is_deleted_by_label(client: Client) -> None:
    for name, value in (("a", "x"), ("b", "y")):
        labelled = pod(name)
        labelled["metadata"]["labels"] = {"l": value}
        await client("POST", PODS.path(NAMESPACE), labelled)

    await client("DELETE", f"{PODS.path(NAMESPACE)}?labelSelector=l=x")

    _, left = await client("GET", PODS.path())
    assert ["b"] == [each["metadata"]["name"] for each in left["items"]]


async def test_a_dry_run_stores_nothing(client: Client) -> None:
    status, shown = await client("POST", f"{PODS.path(NAMESPACE)}?dryRun=All", pod("w"))
    _, listed = await client("GET", PODS.path())

    assert (201, 30, []) == (
        status,
        shown["spec"]["terminationGracePeriodSeconds"],
        listed["items"],
    )


# Controllers.


async def test_a_job_gets_its_pods_again_and_again(client: Client) -> None:
    job = {
        "metadata": {"name": "train"},
        "spec": {
            "completionMode": "Indexed",
            "completions": 3,
            "parallelism": 3,
            "template": {"spec": {**pod("")["spec"], "restartPolicy": "Never"}},
        },
    }
    await client("POST", NODES.path(), node("n1"))
    await client("POST", JOBS.path(NAMESPACE), job)
    path = JOBS.path(NAMESPACE, "train")
    await client.until(path, lambda found: found.get("status", {}).get("active") == 3)
    _, pods = await client("GET", PODS.path(NAMESPACE))
    first = pods["items"][0]["metadata"]["name"]
    for each in pods["items"]:
        await bound(client, each["metadata"]["name"])
    await client.until(path, lambda found: found["status"].get("ready") == 3)

    await client("DELETE", PODS.path(NAMESPACE, first))
    await client.until(path, lambda found: found["status"].get("ready") == 2)

    _, pods = await client("GET", PODS.path(NAMESPACE))
    indexes = [
        each["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        for each in pods["items"]
    ]
    assert ["0", "1", "2"] == sorted(indexes)
    assert first not in {each["metadata"]["name"] for each in pods["items"]}


async def test_a_suspended_job_has_no_pods(client: Client) -> None:
    template = {"spec": {**pod("")["spec"], "restartPolicy": "Never"}}
    job = {"metadata": {"name": "train"}, "spec": {"suspend": True, "template": template}}
    await client("POST", JOBS.path(NAMESPACE), job)
    path = JOBS.path(NAMESPACE, "train")
    await client.until(path, lambda found: found.get("status", {}).get("conditions"))
    _, none = await client("GET", PODS.path(NAMESPACE))
    patch = {"spec": {"suspend": False}}
    await client("PATCH", path, patch, "application/merge-patch+json")

    await client.until(path, lambda found: found["status"].get("active") == 1)

    assert [] == none["items"]


async def test_what_is_owned_goes_with_its_owner(client: Client) -> None:
    template = {"spec": {**pod("")["spec"], "restartPolicy": "Never"}}
    await client(
        "POST", JOBS.path(NAMESPACE), {"metadata": {"name": "j"}, "spec": {"template": template}}
    )
    await client.until(PODS.path(NAMESPACE), lambda found: found["items"])

    await client("DELETE", JOBS.path(NAMESPACE, "j"), {"propagationPolicy": "Background"})

    await client.until(PODS.path(NAMESPACE), lambda found: not found["items"])


async def test_a_namespace_goes_with_all_that_is_in_it(client: Client) -> None:
    await client("POST", NAMESPACES.path(), {"metadata": {"name": "team"}})
    await client("POST", PODS.path("team"), pod("w"))

    await client("DELETE", NAMESPACES.path(name="team"))
    refused, why = await client("POST", PODS.path("team"), pod("late"))

    await client.until(NAMESPACES.path(name="team"), lambda found: found.get("code") == 404)
    assert refused in (403, 404), why
    assert [] == (await client("GET", PODS.path()))[1]["items"]


async def test_a_budget_counts_and_protects(client: Client) -> None:
    await client("POST", NODES.path(), node("n1"))
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"l": "x"}}},
    }
    await client("POST", POD_DISRUPTION_BUDGETS.path(NAMESPACE), budget)
    for name in ("a", "b"):
        labelled = pod(name)
        labelled["metadata"]["labels"] = {"l": "x"}
        await client("POST", PODS.path(NAMESPACE), labelled)
        await bound(client, name)
    path = POD_DISRUPTION_BUDGETS.path(NAMESPACE, "b")
    await client.until(path, lambda found: found.get("status", {}).get("currentHealthy") == 2)

    first, _ = await client("POST", f"{PODS.path(NAMESPACE, 'a')}/eviction", eviction("a"))
    second, why = await client("POST", f"{PODS.path(NAMESPACE, 'b')}/eviction", eviction("b"))

    assert (201, 429) == (first, second)
    assert "DisruptionBudget" == why["details"]["causes"][0]["reason"]


async def test_a_claim_is_bound_to_the_smallest_volume_that_will_do(client: Client) -> None:
    for name, size in (("large", "8Gi"), ("small", "2Gi"), ("tiny", "1Mi")):
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        }
        await client("POST", PERSISTENT_VOLUMES.path(), {"metadata": {"name": name}, "spec": spec})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = PERSISTENT_VOLUME_CLAIMS.path(NAMESPACE)
    await client("POST", path, {"metadata": {"name": "c"}, "spec": spec})

    found = await client.until(f"{path}/c", lambda found: found["status"]["phase"] == "Bound")

    assert "small" == found["spec"]["volumeName"]


async def test_a_pod_runs_once_its_node_is_there(client: Client) -> None:
    await client("POST", PODS.path(NAMESPACE), pod("w"))
    await bound(client, "w", "late")
    path = PODS.path(NAMESPACE, "w")
    await asyncio.sleep(0.05)
    _, before = await client("GET", path)

    await client("POST", NODES.path(), node("late"))

    await client.until(path, lambda found: found["status"]["phase"] == "Running")
    assert "Pending" == before["status"]["phase"]


# Growth.


def test_a_create_costs_the_same_however_many_there_are() -> None:
    server = Server(controllers=False)
    names = (f"w-{number}" for number in itertools.count())

    def create(count: int) -> None:
        for name in itertools.islice(names, count):
            body = {"apiVersion": "v1", "kind": "Pod", **pod(name)}
            server.objects.create(server.objects.served_pods, NAMESPACE, body, Options())

    def least() -> float:
        """Return the CPU of thirty creates: of ten tries the least, which collects no garbage."""
        return min(cpu.units(lambda: create(30)) for _ in range(10))

    create(200)
    few = least()
    create(4500)
    many = least()

    # Ten times as many pods are there.
    assert many < 4 * few
