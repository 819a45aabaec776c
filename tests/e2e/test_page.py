"""The page for all users of a cluster, with the chart's rights, on a real API server."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.support import chart_objects, queues
from e2e.support.chart_objects import RELEASE
from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.queues import Objects, queue
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import access, credentials

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

ROLES = ("readerrole", "tenantroles", "profile", "pagerole")
REVOKED_SECONDS = 70.0
"""A token that was revoked is out within this time, as docs/page.md says."""
SERVICE_ACCOUNTS = "/api/v1/namespaces/{}/serviceaccounts"
SCREENS = ("/", "/gangs", "/queues", "/nodes", "/decisions", "/try")
DOCUMENTS = ("overview", "usage", "cluster", "queues", "gangs", "nodes", "decisions")


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane of its own, with the roles of the chart."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        roles = chart_objects.of_templates(ROLES, "page.enabled=true")
        started.kubectl("apply", "--namespace=default", "--filename=-", input=roles)
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started, queues.objects(plane) as made:
        made.create_and_wait(queue("idle", 0))
        yield started


@pytest.fixture
def other(plane: controlplane.ControlPlane) -> Iterator[Namespace]:
    """Give the namespace of the other team."""
    with Namespace(plane, "of-the-other-team") as made:
        yield made


def token_of(cluster: controlplane.Cluster, namespace: str, name: str) -> str:
    """Return a token of a ServiceAccount."""
    path = f"{SERVICE_ACCOUNTS.format(namespace)}/{name}/token"
    found: str = cluster.request("POST", path, {"spec": {}})["status"]["token"]
    return found


def user_of(namespace: Namespace, kind: str = "rolebinding", role: str = "view") -> str:
    """Return the token of a new ServiceAccount with a ClusterRole, in its namespace or in all."""
    namespace.kubectl("create", "serviceaccount", "user")
    name = f"user-{namespace.name}"
    owner = f"--serviceaccount={namespace.name}:user"
    namespace.kubectl("create", kind, name, f"--clusterrole={role}", owner)
    return token_of(namespace.cluster, namespace.name, "user")


class Answer(NamedTuple):
    """What the page answered."""

    status: int
    text: str
    headers: dict[str, str]


class Page:
    """A page that runs as a process, with the ServiceAccount of the chart."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def get(self, path: str, token: str = "", method: str = "GET", body: str = "") -> Answer:
        """Return the answer to a request with a token."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            text = answer.read(200) if path == "/events" else answer.read()
        finally:
            connection.close()
        return Answer(answer.status, text.decode(errors="replace"), dict(answer.getheaders()))

    def document(self, name: str, token: str) -> dict[str, Any]:
        """Return a document of the page."""
        found: dict[str, Any] = json.loads(self.get(f"/api/v1/{name}", token).text)
        return found

    def gangs(self, token: str) -> set[str]:
        """Return the gangs that a user sees."""
        return {each["name"] for each in self.document("gangs", token)["items"]}


@contextmanager
def opened(plane: controlplane.Cluster, directory: Path) -> Iterator[Page]:
    """Run the page."""
    kubeconfig = directory / "kubeconfig-page"
    account = token_of(plane, "default", f"{RELEASE}-page")
    credentials.write_kubeconfig(kubeconfig, access.Access(plane.url, plane.ca_file, account))
    command = [
        *(sys.executable, "-m", "gang_scheduler", "page", "--auth=token"),
        *(f"--kubeconfig={kubeconfig}", f"--history={directory / 'history'}"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("http://"), process.communicate()[1]
        yield Page(process, int(line.strip().rstrip("/").rpartition(":")[2]))
    finally:
        process.kill()
        process.communicate()


def test_two_tenants_and_an_administrator_each_see_what_they_may(
    namespace: Namespace, other: Namespace, objects: Objects, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=8)
    objects.create_and_wait(queue("scarlet", 32))
    objects.create_and_wait(queue("cobalt", 32))
    other.create(*queues.gang("foreign", 2, "cobalt", on=namespace.here, cpu=4))
    eventually(2, lambda: len(other.bound("foreign")))
    other.create(*queues.gang("abroad", 2, "cobalt", on=namespace.here, cpu=4))
    namespace.create(*queues.gang("llama", 2, "scarlet", on=namespace.here, cpu=4))
    eventually("Unschedulable", lambda: queues.reason(namespace, "llama"))
    mine, theirs = user_of(namespace), user_of(other)
    with Namespace(namespace.cluster, "administrators") as third:
        admin = user_of(third, "clusterrolebinding", f"default:{RELEASE}:reader")
        with opened(namespace.cluster, tmp_path) as page:
            until(lambda: page.gangs(mine) == {"llama"})
            until(lambda: page.gangs(theirs) == {"foreign", "abroad"})
            assert {"llama", "foreign", "abroad"} <= page.gangs(admin)

            place = page.document(f"gangs/{namespace.name}/llama", mine)["position"]
            assert place["placeInCluster"] <= place["ofCluster"]
            hidden = (other.name, "foreign", "abroad", "cobalt", *namespace.bound().values())
            hidden = (*hidden, *other.bound().values())
            own = (f"gangs/{namespace.name}/llama", f"timelines/{namespace.name}/llama")
            documents = [f"/api/v1/{each}" for each in (*DOCUMENTS, *own)]
            trial = f"/try?name=x&namespace={namespace.name}&nodes=2&gpus=0&queue=scarlet"
            for path in (*SCREENS, *documents, "/events", f"/gangs/{namespace.name}/llama", trial):
                answer = page.get(path, mine)
                said = f"{answer.text}{answer.headers}"
                assert [] == [each for each in hidden if each in said], path
            for path in (f"/gangs/{other.name}/foreign", "/queues/cobalt"):
                assert 404 == page.get(path, mine).status
                assert 200 == page.get(path, admin).status


def attacks(made_by: str) -> list[dict[str, Any]]:
    """Return objects that make the page stop, lie, or say nothing, unless it knows better."""
    far = "2099-01-01T00:00:00Z"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": " ", "uid": "u", "controller": True}
    pod = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "none"}
    event = {
        "involvedObject": {"kind": "PodGroup", "name": "needs", "namespace": made_by},
        "reason": "Preempted",
        "reportingComponent": "py-gang-scheduler",
        "message": f"as a member of gang {made_by}/" + "n" * 500_000 + " and more",
        "firstTimestamp": far,
        "lastTimestamp": far,
    }
    settings = {"settings.json": json.dumps({"scheduler_names": ["nobody"]})}
    return [
        {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}
        for kind, metadata, fields in (
            ("Pod", {"name": "needs", "ownerReferences": [owner]}, {"spec": pod}),
            ("Event", {"name": "long"}, event),
            ("ConfigMap", {"name": "py-gang-scheduler-profile"}, {"data": settings}),
        )
    ]


def test_whatever_a_tenant_writes_the_page_says_to_others_what_it_said(
    namespace: Namespace, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=8)
    namespace.create(*gang("llama", 2, on=namespace.here, cpu=64))
    mine = user_of(namespace)

    def told(page: Page) -> object:
        (row,) = page.document("gangs", mine)["items"]
        found = page.document(f"gangs/{namespace.name}/llama", mine)
        return row["message"], found["summary"], found["notKnown"]

    with Namespace(namespace.cluster, "a-tenant") as tenant:
        user_of(tenant, role="edit")
        with opened(namespace.cluster, tmp_path) as page:
            until(lambda: page.gangs(mine) == {"llama"} and "64" in str(told(page)))
            before = told(page)
            account = f"--as=system:serviceaccount:{tenant.name}:user"
            listed = {"apiVersion": "v1", "kind": "List", "items": attacks(tenant.name)}
            tenant.kubectl("create", account, "--filename=-", stdin=json.dumps(listed))

            version = page.get("/events", mine).text
            until(lambda: page.get("/events", mine).text != version)
            assert before == told(page)
        # A page that begins now reads all of it at once.
        with opened(namespace.cluster, tmp_path) as page:
            until(lambda: page.gangs(mine) == {"llama"})
            assert before == told(page)


def test_who_has_no_token_no_right_or_a_revoked_token_sees_nothing(
    namespace: Namespace, other: Namespace, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=8)
    namespace.create(*gang("llama", 1, on=namespace.here))
    token = user_of(namespace)
    other.kubectl("create", "serviceaccount", "user")
    stranger = token_of(other.cluster, other.name, "user")
    with opened(namespace.cluster, tmp_path) as page:
        until(lambda: page.gangs(token) == {"llama"})
        led = page.get("/gangs")
        assert (303, "/sign-in?to=/gangs") == (led.status, led.headers["Location"])
        for path in ("/api/v1/gangs", "/events"):
            assert 401 == page.get(path).status
            assert 401 == page.get(path, "no-token").status
        assert 403 == page.get("/sign-in", method="POST", body="token=no-token").status
        refused = page.get("/", stranger)
        assert 403 == refused.status
        assert "llama" not in refused.text

        signed = page.get("/sign-in", method="POST", body=f"token={token}&to=/gangs")
        assert (303, "/gangs") == (signed.status, signed.headers["Location"])
        assert token not in signed.headers["Set-Cookie"]
        namespace.kubectl("delete", "serviceaccount", "user")
        until(lambda: page.get("/api/v1/gangs", token).status == 401, REVOKED_SECONDS)


def test_the_page_is_killed_and_comes_back_with_its_history(
    plane: controlplane.ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=8)
    namespace.create(*gang("llama", 2, on=namespace.here))
    eventually(2, lambda: len(namespace.bound("llama")))
    token = user_of(namespace)

    def decisions(page: Page) -> set[str]:
        found = page.document(f"decisions?namespace={namespace.name}", token)["items"]
        return {each["reason"] for each in found}

    with opened(plane, tmp_path) as page:
        before = until(lambda: decisions(page))
        page.process.kill()
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace.name}/events"
    plane.request("DELETE", path)
    until(lambda: not plane.request("GET", path)["items"])
    with opened(plane, tmp_path) as page:
        assert before <= decisions(page)
        screen = page.get("/decisions", token).text
        assert "Known since" in screen
        assert "A restart of the page keeps them" in screen


def test_without_an_api_server_the_page_says_stale_and_recovers(
    plane: controlplane.ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    namespace.own_nodes(1, cpu=8)
    namespace.create(*gang("llama", 1, on=namespace.here))
    token = user_of(namespace)

    def shown(page: Page) -> tuple[bool, bool, bool]:
        """Return whether the screen is answered, has the gang, and says that it is old."""
        answer = page.get("/", token)
        text = answer.text
        return answer.status == 200, "llama" in text, "Stale since" in text

    with opened(plane, tmp_path) as page:
        until(lambda: page.gangs(token) == {"llama"})
        plane.stop_component("kube-apiserver")
        try:
            eventually((True, True, True), lambda: shown(page))
        finally:
            plane.start_component("kube-apiserver")
        eventually((True, True, False), lambda: shown(page))
