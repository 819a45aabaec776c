"""Two operators that take turns, each with an account of its own, by which its writes are told."""

import datetime as dt
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import access, credentials

HOME: Final = "default"
BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
WRITES: Final = ("create", "update", "patch", "delete")
AUDIT_POLICY: Final = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:{HOME}"]
  verbs: [{", ".join(WRITES)}]
- level: Metadata
  verbs: [create]
  resources:
  - group: ""
    resources: [pods]
- level: None
"""


class Write(NamedTuple):
    """A write as the API server has it in its audit log, with both ends in seconds."""

    account: str
    verb: str
    resource: str
    name: str
    code: int
    received_at: float
    answered_at: float

    @property
    def is_of_lease(self) -> bool:
        """Whether the Lease was written."""
        return self.resource == "leases"


def options(directory: Path, *flags: str, **more: Any) -> controlplane.Options:
    """Return the options of a control plane that keeps the writes of the replicas.

    `flags` are those of its API server.
    """
    policy = directory / "audit-policy-of-replicas.yaml"
    policy.write_text(AUDIT_POLICY)
    flags = (f"--audit-policy-file={policy}", *flags)
    return controlplane.Options(audit=True, extra_args={"kube-apiserver": flags}, **more)


class Replica(controlplane.Scheduler):
    """An operator that takes part in the election of the holder of a Lease, as a ServiceAccount."""

    def __init__(
        self,
        plane: controlplane.ControlPlane,
        name: str,
        *flags: str,
        lease_name: str,
        account_name: str = "",
    ) -> None:
        lease = (f"--lease-name={lease_name}", f"--lease-namespace={HOME}")
        self.account = account_name or name
        super().__init__(
            plane,
            *("--leader-elect", *lease, *flags),
            name=name,
            kubeconfig=kubeconfig(plane, self.account),
        )
        self._plane = plane

    @property
    def leads(self) -> bool:
        """Whether it schedules."""
        return self.metric("pgs_leader") == 1

    @property
    def pid(self) -> int:
        """Its process."""
        return self._plane.processes.pid(self.name)

    def terminate(self) -> None:
        """Ask it to end, and do not wait for that."""
        os.kill(self.pid, signal.SIGTERM)

    def wait_until_it_leads(self) -> None:
        """Return when it schedules."""
        until(lambda: self.leads)

    def writes(self, offset: int = 0) -> list[Write]:
        """Return what it has written since the offset of the audit log, by the server's clock."""
        found = (each for each in writes(self._plane, offset) if each.account == self.account)
        return sorted(found, key=lambda each: each.received_at)


def writes(plane: controlplane.ControlPlane, offset: int = 0) -> Iterator[Write]:
    """Yield all writes in the audit log, those that were refused as well."""
    with plane.audit_log.open("rb") as file:
        file.seek(offset)
        lines = file.read().split(b"\n")[:-1]
    for line in lines:
        event: dict[str, Any] = msgspec.json.decode(line)
        target = event["objectRef"]
        yield Write(
            event["user"]["username"].rpartition(":")[2],
            event["verb"],
            "/".join(filter(None, (target["resource"], target.get("subresource")))),
            target.get("name", ""),
            event["responseStatus"]["code"],
            _seconds(event["requestReceivedTimestamp"]),
            _seconds(event["stageTimestamp"]),
        )


class Pair:
    """Two replicas of one Lease. A context manager: both run, and the first leads."""

    def __init__(
        self, plane: controlplane.ControlPlane, name: str, *flags: str, account_name: str = ""
    ) -> None:
        first, other = (
            Replica(plane, f"{name}-{letter}", *flags, lease_name=name, account_name=account_name)
            for letter in "ab"
        )
        self.name = name
        self.replicas = first, other
        self._plane = plane

    def __enter__(self) -> Self:
        first, other = self.replicas
        first.start()
        first.wait_until_it_leads()
        other.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.replicas:
            if each.name in self._plane.processes.running():
                each.kill()

    def turns(self) -> tuple[Replica, Replica]:
        """Return the leader, once there is one, and the replica that waits."""
        until(lambda: any(each.leads for each in self.replicas))
        first, other = self.replicas
        return (first, other) if first.leads else (other, first)

    def lease(self) -> dict[str, Any]:
        """Return what the Lease says."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{self.name}"
        found: dict[str, Any] = self._plane.request("GET", path)["spec"]
        return found

    def notes(self) -> list[str]:
        """Return what Events say of the Lease."""
        path = f"/apis/events.k8s.io/v1/namespaces/{HOME}/events"
        found = self._plane.request("GET", path)["items"]
        return [each["note"] for each in found if each["regarding"]["name"] == self.name]


def kubeconfig(plane: controlplane.ControlPlane, name: str) -> Path:
    """Return a kubeconfig with all rights, of a ServiceAccount of this name."""
    file = plane.directory / f"kubeconfig-{name}"
    if not file.exists():
        credentials.write_kubeconfig(file, account(plane, HOME, name))
    return file


def account(plane: controlplane.ControlPlane, namespace: str, name: str) -> access.Access:
    """Create a ServiceAccount with all rights, and return the way to the API server as that."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    plane.request("POST", accounts, {"metadata": {"name": name}})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    plane.request("POST", BINDINGS, binding)
    token = plane.request("POST", f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    made = access.Access(plane.url, plane.ca_file, token)
    with access.Client(made) as client:
        # The authorizer learns of roles by a watch.
        until(lambda: client.request("GET", "/api/v1/nodes").status == 200)
    return made


def _seconds(moment: str) -> float:
    return dt.datetime.fromisoformat(moment).timestamp()
