"""A right that is taken away from the operator, and given back: only pods of that kind wait.

On a control plane of their own, with an account of the operator's.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import manifests
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from integrations import gangs, kinds
from tools import controllers, controlplane
from tools.controlplane import access, credentials

pytestmark = [pytest.mark.e2e, pytest.mark.jobset]

CRDS = Path(__file__).parents[2] / "crds"
HOME, ACCOUNT = "gang-system", "py-gang-scheduler"
USER = f"system:serviceaccount:{HOME}:{ACCOUNT}"
JOB_SETS, OTHERS = "job-sets", "others"
GROUPS = (
    *("", "apps", "batch", "policy", "storage.k8s.io", "scheduling.k8s.io"),
    *("apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io"),
    *("scheduling.sigs.k8s.io", "scheduling.x-k8s.io", "scheduling.koordinator.sh"),
    *("py-gang-scheduler.io", "kueue.x-k8s.io", "scheduling.volcano.sh", "kubeflow.org"),
    *("ray.io", "leaderworkerset.x-k8s.io", "sparkoperator.k8s.io", "autoscaling.x-k8s.io"),
    *("resource.k8s.io", "workload.codeflare.dev"),
)


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={CRDS}")
        started.kubectl("create", "namespace", HOME)
        started.kubectl("create", "serviceaccount", ACCOUNT, f"--namespace={HOME}")
        image = "--image=none"
        started.kubectl(
            *("create", "deployment", ACCOUNT, f"--namespace={HOME}", image, "--replicas=0")
        )
        for name, groups in ((OTHERS, GROUPS), (JOB_SETS, ("jobset.x-k8s.io",))):
            allow(started, name, groups)
            give(started, name)
        yield started


@pytest.fixture
def operator(plane: controlplane.ControlPlane, tmp_path: Path) -> Iterator[controlplane.Scheduler]:
    """Give the operator with a token of its account."""
    token = plane.kubectl("create", "token", ACCOUNT, f"--namespace={HOME}").strip()
    kubeconfig = tmp_path / "kubeconfig"
    credentials.write_kubeconfig(kubeconfig, access.Access(plane.url, plane.ca_file, token))
    flags = (f"--lease-namespace={HOME}", f"--lease-name={ACCOUNT}")
    with controlplane.Scheduler(plane, *flags, kubeconfig=kubeconfig) as started:
        yield started


def test_without_a_right_only_its_kind_waits_until_it_is_given_back(
    plane: controlplane.ControlPlane, operator: controlplane.Scheduler, namespace: Namespace
) -> None:
    (workload,) = (each for each in kinds.every() if each.name == "jobset")
    gangs.add_room(namespace, workload.quorum_cpus + 2)
    with controllers.running(plane, *workload.controller):
        operator.stop()
        take_away(plane, JOB_SETS)
        operator.start()
        gangs.create(namespace, workload)
        gangs.wait(lambda: gangs.all_have_waited(namespace, workload.made_first))

        namespace.create(*manifests.gang("other", 2, on=namespace.here))
        eventually("Running", lambda: namespace.phase("other"), gangs.PATIENCE_SECONDS)
        assert {} == gangs.bound_by_role(namespace, workload)
        assert 1 == operator.metric("pgs_kind_forbidden")
        gangs.wait(lambda: "jobsets.jobset.x-k8s.io" in events(plane))

        give(plane, JOB_SETS)
        gangs.wait_for_quorum(namespace, workload)
        gangs.wait(lambda: operator.metric("pgs_kind_forbidden") == 0)
        plane.processes.check()


def allow(plane: controlplane.ControlPlane, name: str, groups: tuple[str, ...]) -> None:
    """Create a ClusterRole for all of some API groups."""
    rule = {"apiGroups": list(groups), "resources": ["*"], "verbs": ["*"]}
    apply(plane, {"kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]})


def give(plane: controlplane.ControlPlane, name: str) -> None:
    """Let the account have a ClusterRole."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": HOME}
    metadata = {"name": name}
    apply(
        plane,
        {
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [account],
        },
    )


def take_away(plane: controlplane.ControlPlane, name: str) -> None:
    """Take a ClusterRole from the account, and wait until the API server knows it."""
    plane.kubectl("delete", "clusterrolebinding", name)
    question = ("auth", "can-i", "list", "jobsets.jobset.x-k8s.io", f"--as={USER}")
    gangs.wait(lambda: "no" in plane.kubectl(*question, check=False))


def apply(plane: controlplane.ControlPlane, document: dict[str, Any]) -> None:
    """Create or replace an object of RBAC."""
    body = json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", **document})
    plane.kubectl("apply", "--filename=-", input=body)


def events(plane: controlplane.ControlPlane) -> str:
    """Return what Events say of the operator's Deployment."""
    shown = plane.kubectl("describe", "deployment", ACCOUNT, f"--namespace={HOME}")
    return shown if "KindForbidden" in shown else ""
