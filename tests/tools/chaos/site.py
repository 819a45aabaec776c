"""Where it storms: a control plane, replicas of the operator behind proxies, and an account.

The replicas have no more rights than the chart gives them, and what has ended is started again.
"""

import contextlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.support import devices, networks, queues
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from tools import controlplane
from tools.chaos import workload
from tools.chaos.job_sets import JobSets
from tools.chaos.proxy import ChaosProxy, WriteLog
from tools.chaos.replica import Replica
from tools.controlplane import access, binaries, directories
from tools.controlplane.processes import Processes
from tools.errands import Errand

CHECKOUT = Path(__file__).parents[3]
CRDS, CHART = CHECKOUT / "crds", CHECKOUT / "charts" / "py-gang-scheduler"
HOME, ACCOUNT = "chaos-system", "py-gang-scheduler"
POD_COMPLETE_SECONDS = 25.0
POLICY = ("--manage-job=Job",)
"""Flags that decisions depend on: `simulate` is given the same."""
FLAGS = (*POLICY, f"--lease-namespace={HOME}", f"--lease-name={ACCOUNT}", "--bind-concurrency=16")
RESTART_SECONDS = 1.0
Say = Callable[[str], None]


@dataclass
class Site:
    """All that faults and users act upon."""

    plane: controlplane.ControlPlane
    replicas: list[Replica]
    namespace: Namespace
    log: WriteLog
    say: Say
    old_source: Path | None = None
    on_crd: Callable[[str], None] = lambda _: None
    keeper: "Keeper | None" = None

    @property
    def proxies(self) -> list[ChaosProxy]:
        """The proxies of all replicas."""
        return [each.proxy for each in self.replicas]

    def leader(self) -> Replica | None:
        """Return the replica that wrote the Lease last, if it did so lately."""
        leases = [each for each in list(self.log.writes) if each.holder]
        if not leases or time.monotonic() - leases[-1].answered_at > 5.0:
            return None
        return next(each for each in self.replicas if each.name == leases[-1].replica)

    def leader_or_any(self, dice: random.Random) -> Replica:
        """Return the leader, or one of the others where there is none."""
        choice = dice.choice(self.replicas)
        return self.leader() or choice

    def rules(self) -> list[Mapping[str, Any]]:
        """Return the rules of the operator's ClusterRole."""
        return list(self.plane.request("GET", f"{ROLES}/{self.role}")["rules"])

    @property
    def role(self) -> str:
        """The name of the operator's ClusterRole."""
        return f"{HOME}:{ACCOUNT}"


ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


class Keeper(Errand):
    """Starts replicas again that have ended, as a kubelet does."""

    def __init__(self, replicas: list[Replica]) -> None:
        super().__init__("keeper", RESTART_SECONDS)
        self._replicas = replicas
        self.turn = threading.Lock()

    def once(self) -> None:
        """Look at all replicas."""
        with self.turn:
            for each in self._replicas:
                if not each.is_running:
                    each.begin()


@contextlib.contextmanager
def running(number: int, source: str, say: Say, more_nodes: int = 0) -> Iterator[Site]:
    """Give a site with so many replicas, all ready. Users may not use `more_nodes`."""
    options = controlplane.Options(native_gangs=True, pod_complete_seconds=POD_COMPLETE_SECONDS)
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(controlplane.start(options, say))
        _furnish(plane, more_nodes)
        stack.enter_context(JobSets(plane))
        token = plane.kubectl(
            "create", "token", ACCOUNT, f"--namespace={HOME}", "--duration=24h"
        ).strip()
        account = access.Access(plane.url, plane.ca_file, token)
        # Replicas speak TLS with the proxies, as they would with the API server.
        key_file = plane.ca_file.with_suffix(".key") if plane.ca_file else None
        # Apart from the servers: a replica that has ended is no failure of theirs.
        beside = stack.enter_context(
            controlplane.Cluster(plane.kubeconfig, plane.access, Processes(*directories.create()))
        )
        log = WriteLog()
        # One alone would do without a leader, and be ended by its Lease, where it is slow.
        elected = ("--leader-elect",) if number > 1 else ()
        replicas = []
        for index in range(number):
            name = f"replica-{index}"
            path = beside.directory / f"kubeconfig-{name}"
            proxy = stack.enter_context(ChaosProxy(name, log, account, path, key_file))
            replicas.append(Replica(beside, proxy, name, *FLAGS, *elected, f"--source={source}"))
        namespace = Namespace(plane, "chaos")
        namespace.begin()
        _create_devices(namespace)
        site = Site(plane, replicas, namespace, log, say)
        for each in replicas:
            each.start()
        site.keeper = stack.enter_context(Keeper(replicas))
        yield site


def _furnish(plane: controlplane.ControlPlane, more_nodes: int) -> None:
    plane.kubectl("apply", f"--filename={CRDS}")
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRDS}")
    _create_nodes(plane, more_nodes)
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
    plane.kubectl("apply", "--filename=-", input=_rights())
    objects = [*cluster_objects(), *_priorities()]
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    plane.kubectl("apply", "--filename=-", input=items)


def _create_nodes(plane: controlplane.ControlPlane, more: int) -> None:
    def labels(index: int) -> dict[str, str]:
        return {
            networks.SPINE: f"spine-{index // workload.NODES_A_SPINE}",
            networks.BLOCK: f"block-{index // workload.NODES_A_BLOCK}",
        }

    room = {"cpu": str(workload.NODE_CPU), "memory": "64Gi", "pods": "110"}
    plane.nodes(workload.NODES, labels=labels, allocatable=room)
    reserved = ({"key": "chaos", "value": "reserved", "effect": "NoSchedule"},)
    plane.nodes(more, labels=labels, allocatable=room, taints=reserved, first=workload.NODES)


def _create_devices(namespace: Namespace) -> None:
    """Create the class and the slices as a driver would, and the template of claims."""
    names = [f"node-{number}" for number in range(workload.NODES)]
    devices.create_slices(namespace.cluster, names, workload.DEVICES)
    devices.install_class(namespace.cluster, extendedResourceName=workload.EXTENDED_RESOURCE)
    namespace.create(devices.template(workload.CLAIM_TEMPLATE))


def cluster_objects() -> list[Manifest]:
    """Return the objects of our CRDs that belong to no gang."""
    borrowing = {"enabled": True}
    whole = workload.NODES * workload.NODE_CPU
    topology = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": networks.SPINES},
    }
    return [
        topology,
        queues.queue("root", whole),
        *(queues.queue(each, workload.QUEUE_CPU, borrowing=borrowing) for each in workload.QUEUES),
    ]


def _priorities() -> list[Manifest]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in workload.PRIORITIES.items()
    ]


def _rights() -> str:
    """Return the account and the roles of the chart, with what its settings here need."""
    parts = ("serviceaccount", "clusterrole", "role")
    done = subprocess.run(
        [
            *(binaries.find("helm"), "template", ACCOUNT, str(CHART), f"--namespace={HOME}"),
            *("--set=image.repository=none", "--set=settings.manageJobs={Job}"),
            *(f"--show-only=templates/{each}.yaml" for each in parts),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
