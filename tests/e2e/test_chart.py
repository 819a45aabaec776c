"""The Helm chart, installed: its objects, its security, and that its RBAC is enough and no more."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from e2e.support import operator_health, queues, storage, suspended_jobs
from e2e.support.manifests import gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.chart import CHART
from tools.controlplane import access, audit, binaries, credentials

pytestmark = pytest.mark.e2e

# Nothing pulls it: no kubelet runs.
IMAGE = "--set=image.repository=registry.example.com/py-gang-scheduler"
RELEASE = "py-gang-scheduler"
HOME = "gang-system"
LEASE_SECONDS = 10.0
# The next leader looks twice a second, and lists all objects once more.
TAKEOVER_SECONDS = LEASE_SECONDS + 10.0
GANGS, SIZE = 50, 4
# Every request of the ServiceAccount.
AUDIT_POLICY = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  users: ["system:serviceaccount:{HOME}:{RELEASE}"]
- level: None
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane with the chart installed in a namespace of the restricted level."""
    policy = tmp_path_factory.mktemp("audit") / "policy.yaml"
    policy.write_text(AUDIT_POLICY)
    options = controlplane.Options(
        audit=True,
        service_account_admission=True,
        extra_args={"kube-apiserver": (f"--audit-policy-file={policy}",)},
    )
    with controlplane.start(options) as started:
        started.nodes(8, allocatable={"cpu": "32", "memory": "64Gi", "pods": "110"})
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        home = {"metadata": {"name": HOME, "labels": labels}}
        started.request("POST", "/api/v1/namespaces", home)
        helm(started, "install", RELEASE, str(CHART), IMAGE)
        until(lambda: started.kubectl("get", "podgroups", "--all-namespaces", check=False) == "")
        yield started


@pytest.fixture(scope="module")
def kubeconfig(plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a kubeconfig that holds a token of the chart's ServiceAccount."""
    token = plane.kubectl("create", "token", RELEASE, f"--namespace={HOME}").strip()
    path = tmp_path_factory.mktemp("account") / "kubeconfig"
    credentials.write_kubeconfig(path, access.Access(plane.url, plane.ca_file, token))
    return path


@pytest.fixture
def flags(plane: controlplane.ControlPlane) -> list[str]:
    """Return the settings that the Deployment passes, as flags."""
    (container,) = template(plane)["spec"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert "metadata.namespace" in str(container["env"])
    lease = environment["PGS_LEASE_NAME"]
    return ["--leader-elect", f"--lease-name={lease}", f"--lease-namespace={HOME}"]


def test_the_chart_installs_its_objects(plane: controlplane.ControlPlane) -> None:
    kinds = "deployment,serviceaccount,service,poddisruptionbudget,role,rolebinding"
    found = plane.kubectl("get", kinds, f"--namespace={HOME}", "--output=name").split()
    assert {
        "deployment.apps",
        "serviceaccount",
        "service",
        "poddisruptionbudget.policy",
        "role.rbac.authorization.k8s.io",
        "rolebinding.rbac.authorization.k8s.io",
    } == {name.partition("/")[0] for name in found if name.endswith(f"/{RELEASE}")}
    assert f"{HOME}:{RELEASE}" in plane.kubectl("get", "clusterrole,clusterrolebinding")


def test_the_crds_stay_when_the_release_goes(plane: controlplane.ControlPlane) -> None:
    crds = json.loads(plane.kubectl("get", "crds", "--output=json"))["items"]

    assert {
        "podgroups.scheduling.sigs.k8s.io",
        "clusternetworktopologies.scheduling.koordinator.sh",
        "queues.py-gang-scheduler.io",
        "resourceflavors.py-gang-scheduler.io",
    } == {each["metadata"]["name"] for each in crds}
    assert {"keep"} == {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in crds}


def test_an_upgrade_with_the_same_values_changes_nothing(plane: controlplane.ControlPlane) -> None:
    before = template(plane)

    helm(plane, "upgrade", RELEASE, str(CHART), IMAGE)

    assert before == template(plane)


def test_crds_of_others_are_left_alone(plane: controlplane.ControlPlane) -> None:
    there = "podgroups.scheduling.sigs.k8s.io"

    said = helm(plane, "install", "other", str(CHART), IMAGE, "--dry-run=server")

    assert "kind: CustomResourceDefinition" not in said
    assert f"Left as it was, because this release did not install it: CRD {there}" in said


def test_a_crd_of_the_release_is_upgraded_with_it(plane: controlplane.ControlPlane) -> None:
    said = helm(plane, "upgrade", RELEASE, str(CHART), IMAGE, "--dry-run=server")

    assert 4 == said.count("kind: CustomResourceDefinition")
    assert "Left as it was" not in said


def test_crds_that_were_there_are_upgraded_once_they_are_given_to_the_release(
    plane: controlplane.ControlPlane,
) -> None:
    """What the notes say is enough, and two of the three marks are left alone."""
    name = "podgroups.scheduling.sigs.k8s.io"
    both = (f"meta.helm.sh/release-name={RELEASE}", f"meta.helm.sh/release-namespace={HOME}")
    plane.kubectl("label", "crd", name, "app.kubernetes.io/managed-by-")
    try:
        plane.kubectl("annotate", "--overwrite", "crd", name, *both)
        said = helm(plane, "upgrade", RELEASE, str(CHART), IMAGE, "--dry-run=server")
        assert f"Left as it was, because this release did not install it: CRD {name}" in said
        always = ("--set=crds.install=always", "--dry-run=server")
        with pytest.raises(AssertionError, match=f"always: {name} were installed by"):
            helm(plane, "upgrade", RELEASE, str(CHART), IMAGE, *always)
        commands = [each for each in said.splitlines() if each.startswith("  kubectl ")]
        marks = [each.split()[1:] for each in commands if each.split()[1] in {"label", "annotate"}]
        assert 2 == len(marks)
    finally:
        plane.kubectl("label", "--overwrite", "crd", name, "app.kubernetes.io/managed-by=Helm")
    for each in marks:
        plane.kubectl(*each)
    assert "Left as it was" not in helm(plane, "upgrade", RELEASE, str(CHART), IMAGE)


def test_the_gang_of_its_notes_is_accepted(
    plane: controlplane.ControlPlane, namespace: Namespace
) -> None:
    notes = helm(plane, "get", "notes", RELEASE)
    (text,) = re.findall(r"<<EOF\n(.*?)\nEOF\n", notes, re.DOTALL)
    where = f"--namespace={namespace.name}"

    said = plane.kubectl("apply", "--dry-run=server", where, "--filename=-", input=text)

    assert ["podgroup", "job.batch"] == [
        line.partition("/")[0].removesuffix(".scheduling.sigs.k8s.io") for line in said.splitlines()
    ]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("networkpolicy", "networkPolicy.enabled=true"),
        ("networkpolicy", "networkPolicy.enabled=true,networkPolicy.apiServerCidrs={10.0.0.1/32}"),
        # In a namespace of the restricted level.
        ("tests/ready", "metrics.service.enabled=true"),
    ],
)
def test_what_is_made_on_demand_is_accepted(
    plane: controlplane.ControlPlane, template: str, value: str
) -> None:
    shown = (f"--show-only=templates/{template}.yaml", f"--set={value}")
    manifest = helm(plane, "template", RELEASE, str(CHART), IMAGE, *shown)

    said = plane.kubectl(
        *("apply", "--dry-run=server", f"--namespace={HOME}", "--filename=-"), input=manifest
    )

    assert said.endswith("created (server dry run)\n")


@pytest.mark.parametrize(
    ("role", "question", "answer"),
    [
        ("view", "list podgroups.scheduling.sigs.k8s.io", "yes"),
        ("view", "create podgroups.scheduling.sigs.k8s.io", "no"),
        ("edit", "get podgroups.scheduling.sigs.k8s.io", "yes"),
        ("edit", "create podgroups.scheduling.sigs.k8s.io", "yes"),
        ("edit", "patch podgroups.scheduling.sigs.k8s.io --subresource=status", "no"),
        ("admin", "delete podgroups.scheduling.sigs.k8s.io", "yes"),
        ("admin", "create clusternetworktopologies.scheduling.koordinator.sh", "no"),
    ],
)
def test_a_tenant_may(
    plane: controlplane.ControlPlane, namespace: Namespace, role: str, question: str, answer: str
) -> None:
    where = f"--namespace={namespace.name}"
    plane.kubectl("create", "rolebinding", role, f"--clusterrole={role}", "--user=jo", where)
    asked = ("auth", "can-i", *question.split(), "--as=jo", where)

    # The controller manager adds roles up in its own time.
    eventually(answer, lambda: plane.kubectl(*asked, check=False).strip())


def test_its_pods_pass_the_restricted_level(plane: controlplane.ControlPlane) -> None:
    # The controller manager has made them, in a namespace that enforces the level...
    pods = f"/api/v1/namespaces/{HOME}/pods"
    eventually(2, lambda: len(plane.request("GET", pods)["items"]))
    # ... which is not for lack of enforcement: one setting less, and the same pod is refused.
    made = {"metadata": {"name": "dry"}, "spec": template(plane)["spec"]}
    assert plane.request("POST", f"{pods}?dryRun=All", made)
    del made["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"]
    with pytest.raises(controlplane.ControlPlaneError, match="violates PodSecurity"):
        plane.request("POST", f"{pods}?dryRun=All", made)


def test_the_role_is_enough_for_a_gang_with_status_and_events(
    plane: controlplane.ControlPlane, namespace: Namespace, kubeconfig: Path, flags: list[str]
) -> None:
    offset = audit.end(plane.audit_log)
    with controlplane.Scheduler(plane, *flags, kubeconfig=kubeconfig) as scheduler:
        namespace.create(*gang("a", 3), *gang("huge", 2, cpu=1000), pod("alone"))

        eventually("Running", lambda: namespace.phase("a"))
        until(lambda: namespace.notes("a", "Scheduled"))
        until(lambda: namespace.node_of("alone"))
        eventually("Scheduling", lambda: namespace.phase("huge"))
        eventually("Unschedulable", lambda: namespace.condition_of_pod("huge-0").get("reason"))
        until(lambda: namespace.notes("huge", "FailedScheduling"))
        until(lambda: namespace.notes("huge-1", "FailedScheduling"))
        until(lambda: namespace.notes("a-1", "Scheduled"))
        assert 0 < len(requests(plane, offset))
        assert [] == [each for each in requests(plane, offset) if each[0] in {401, 403}]
        assert [] == operator_health.tracebacks(scheduler)
        assert not [line for line in scheduler.log.read_text().splitlines() if "orbidden" in line]
        assert RELEASE in plane.kubectl("get", "leases", f"--namespace={HOME}")


def test_the_role_is_enough_to_bind_claims(
    plane: controlplane.ControlPlane, namespace: Namespace, kubeconfig: Path, flags: list[str]
) -> None:
    (node,) = namespace.own_nodes(1)
    namespace.create(storage.claim("there", f"{namespace.name}-there"))
    namespace.create(storage.claim("made", namespace.name))
    with (
        storage.provisioning(plane, "disks.example.com") as provisioner,
        storage.storage_class(namespace, provisioner.name),
        storage.storage_class(namespace, disks_on=(node,), suffix="-there"),
        controlplane.Scheduler(plane, *flags, kubeconfig=kubeconfig) as scheduler,
    ):
        namespace.create(*(pod(each, volumes=storage.using(each)) for each in ("there", "made")))

        eventually({"there", "made"}, lambda: set(namespace.bound()))
        assert {"there", "made"} == storage.bound_claims(namespace)
        assert not [line for line in scheduler.log.read_text().splitlines() if "orbidden" in line]


def test_without_the_right_to_start_jobs_other_gangs_go_on_and_with_it_jobs_as_well(
    plane: controlplane.ControlPlane, namespace: Namespace, kubeconfig: Path, flags: list[str]
) -> None:
    managed = [*flags, "--manage-job=Job"]
    with (
        queues.objects(plane) as objects,
        controlplane.Scheduler(plane, *managed, kubeconfig=kubeconfig) as scheduler,
    ):
        team = queues.queue("team", 2)
        objects.create_and_wait(team)
        namespace.create(suspended_jobs.job("train", "team"), *gang("a", 2))
        eventually("Running", lambda: namespace.phase("a"))
        (note,) = until(lambda: namespace.notes("train", "AdmissionFailed"))
        assert "may not patch jobs.batch" in note
        assert suspended_jobs.is_suspended(namespace, "train")

        helm(plane, "upgrade", RELEASE, str(CHART), IMAGE, "--set=settings.manageJobs={Job}")
        eventually(2, lambda: len(namespace.bound("train-")))
        objects.change(team, stopPolicy="HoldAndDrain")
        eventually([], lambda: suspended_jobs.pods(namespace, "train"))
        assert suspended_jobs.is_suspended(namespace, "train")
        assert [] == operator_health.tracebacks(scheduler)
        namespace.delete("jobs", "train")
    helm(plane, "upgrade", RELEASE, str(CHART), IMAGE)


@pytest.mark.parametrize(
    "question",
    [
        "get secrets",
        "list configmaps",
        "create pods",
        "deletecollection pods",
        "patch pods",
        "create pods --subresource=eviction",
        "create pods --subresource=exec",
        "patch nodes",
        "patch nodes --subresource=status",
        "delete podgroups.scheduling.sigs.k8s.io",
        "create podgroups.scheduling.sigs.k8s.io",
        "patch customresourcedefinitions.apiextensions.k8s.io",
        "get leases.coordination.k8s.io --namespace=kube-system",
        "create leases.coordination.k8s.io --namespace=kube-system",
        f"get leases.coordination.k8s.io/somebody-else --namespace={HOME}",
        f"update leases.coordination.k8s.io/somebody-else --namespace={HOME}",
        f"get secrets --namespace={HOME}",
        "escalate clusterroles.rbac.authorization.k8s.io",
        "impersonate users",
        "* *",
    ],
)
def test_the_role_does_not_allow_to(plane: controlplane.ControlPlane, question: str) -> None:
    assert "no" == may(plane, question)


def test_the_role_allows_what_the_answers_above_would_hide(
    plane: controlplane.ControlPlane,
) -> None:
    assert "yes" == may(plane, "list pods --all-namespaces")
    assert "yes" == may(plane, "create pods --subresource=binding")
    assert "yes" == may(plane, "delete pods")
    assert "yes" == may(plane, f"update leases.coordination.k8s.io/{RELEASE} --namespace={HOME}")


@pytest.mark.alone
def test_the_other_replica_takes_over_when_the_leader_is_killed(
    plane: controlplane.ControlPlane, namespace: Namespace, kubeconfig: Path, flags: list[str]
) -> None:
    slowly = [*flags, "--bind-concurrency=1"]
    leader, other = (
        controlplane.Scheduler(plane, *slowly, name=f"replica-{letter}", kubeconfig=kubeconfig)
        for letter in "ab"
    )
    gangs = {f"g{number}": SIZE for number in range(GANGS)}
    with leader, namespace.watch() as watcher:
        eventually(1.0, lambda: leader.metric("pgs_leader"))
        with other:
            assert ("ok", 0) == (other.get("/readyz"), other.metric("pgs_leader"))
            namespace.create(*(doc for name in gangs for doc in gang(name, SIZE)))
            watcher.wait_until(lambda seen: bound(seen) >= GANGS * SIZE * 0.3)
            leader.kill()
            assert 0 < len(namespace.bound()) < GANGS * SIZE

            eventually(1.0, lambda: other.metric("pgs_leader"), TAKEOVER_SECONDS)
            watcher.wait_until(lambda seen: bound(seen) == GANGS * SIZE)
            assert [] == watcher.partial_gangs(gangs, TAKEOVER_SECONDS)
            assert [] == operator_health.tracebacks(other)


def bound(seen: controlplane.Watcher) -> int:
    return sum(1 for each in seen.states.values() if each.node)


def template(plane: controlplane.ControlPlane) -> dict[str, Any]:
    path = f"/apis/apps/v1/namespaces/{HOME}/deployments/{RELEASE}"
    found: dict[str, Any] = plane.request("GET", path)["spec"]["template"]
    return found


def helm(plane: controlplane.ControlPlane, *arguments: str) -> str:
    environment = [f"--kubeconfig={plane.kubeconfig}", f"--namespace={HOME}"]
    done = subprocess.run(
        [binaries.find("helm"), *arguments, *environment],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def may(plane: controlplane.ControlPlane, question: str) -> str:
    account = f"--as=system:serviceaccount:{HOME}:{RELEASE}"
    # It says no by its exit status as well.
    return plane.kubectl("auth", "can-i", *question.split(), account, check=False).strip()


def requests(plane: controlplane.ControlPlane, offset: int) -> list[tuple[int, str, str]]:
    lines = plane.audit_log.read_bytes()[offset:].split(b"\n")[:-1]
    events = [msgspec.json.decode(line) for line in lines]
    return [(e["responseStatus"]["code"], e["verb"], e["requestURI"]) for e in events]
