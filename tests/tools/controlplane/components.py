"""The command line of each component, as pure functions of one Site."""

import random
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.controlplane import builds, errors
from tools.controlplane.options import Options

# Below the range from which Linux takes the local ports of outgoing connections: a port stays
# ours while its component is down for a restart.
PORTS = range(20000, 30000)
SERVICE_CIDR = "10.96.0.0/16"
NATIVE_GANGS = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
NATIVE_POD_GROUPS = {"1.36": "v1alpha2", "1.37": "v1beta1"}
"""The version of scheduling.k8s.io in which PodGroups are served, by that of Kubernetes."""
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  verbs: [create]
  resources:
  - group: ""
    resources: [pods, pods/binding]
- level: None
"""


def free_port() -> int:
    """Return a port that is free at this moment; a clash later is the caller's."""
    while True:
        port = random.choice(PORTS)  # noqa: S311 - no secret.
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


@dataclass(frozen=True)
class Site:
    """Where one control plane lives: its files, its ports and its options."""

    directory: Path
    options: Options
    api_port: int = field(default_factory=free_port)
    etcd_port: int = field(default_factory=free_port)
    etcd_peer_port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def ca_file(self) -> Path:
        """The API server's self-signed certificate, which it writes at its first start."""
        return self.directory / "certificates" / "apiserver.crt"

    @property
    def token_file(self) -> Path:
        """The API server's list of tokens."""
        return self.directory / "tokens.csv"

    @property
    def signing_key(self) -> Path:
        """The key of ServiceAccount tokens."""
        return self.directory / "service-accounts.key"

    @property
    def stages(self) -> Path:
        """KWOK's configuration."""
        return self.directory / "stages.yaml"

    @property
    def audit_policy(self) -> Path:
        """What the API server writes to the audit log."""
        return self.directory / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        """Creations of pods and bindings, a JSON document a line."""
        return self.directory / "audit.log"


def arguments(name: str, site: Site) -> list[str]:
    """Return the arguments of a component, the caller's own last: they win."""
    return [*ARGUMENTS[name](site), *site.options.extra_args.get(name, ())]


def _etcd(site: Site) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (site.etcd_port, site.etcd_peer_port))
    return [
        f"--data-dir={site.directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        # The data need to survive a killed process, which they do, but no power cut.
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def _kube_apiserver(site: Site) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{site.etcd_port}",
        f"--secure-port={site.api_port}",
        "--bind-address=127.0.0.1",
        # Named, because the default is the host's first network card, which there may not be.
        "--advertise-address=127.0.0.1",
        f"--cert-dir={site.ca_file.parent}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        f"--service-account-issuer={site.url}",
        f"--service-account-key-file={site.signing_key}",
        f"--service-account-signing-key-file={site.signing_key}",
        f"--token-auth-file={site.token_file}",
        "--authorization-mode=RBAC",
        # A loopback address is refused as an endpoint of the service `kubernetes`.
        "--endpoint-reconciler-type=none",
        # Else SIGTERM waits a minute for watches that never end.
        "--shutdown-watch-termination-grace-period=1s",
        f"--disable-admission-plugins={','.join(_disabled_admission(site.options))}",
        *_native_gangs(site.options),
        *_native_pod_groups(site.options),
        *_unlimited(site.options),
        *_audit(site),
    ]


def _kube_controller_manager(site: Site) -> list[str]:
    return [
        f"--kubeconfig={site.kubeconfig}",
        # No kubelet sends heartbeats: with the first every node would go unreachable. The second
        # patches every node each time the cluster grows past a size, for kubelets to read.
        "--controllers=*,-node-lifecycle-controller,-ttl-controller",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        f"--service-account-private-key-file={site.signing_key}",
        # Its metrics are not read, and its fixed port would clash with a neighbour's.
        "--secure-port=0",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        *_native_gangs(site.options),
    ]


def _kube_scheduler(site: Site) -> list[str]:
    configuration = site.options.kube_scheduler_config
    # With a configuration file, client and rates are its own.
    flags = (
        [f"--config={configuration}"]
        if configuration
        else ["--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=5000"]
    )
    return [
        f"--kubeconfig={site.kubeconfig}",
        "--secure-port=0",
        *flags,
        *_native_gangs(site.options),
    ]


def kwok_arguments(kubeconfig: Path, stages: Path) -> list[str]:
    """Return KWOK's arguments for any cluster."""
    return [
        f"--kubeconfig={kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-label-selector=type=kwok",
        "--node-lease-duration-seconds=200",
        # No kubelet server: its fixed port would clash with a neighbour's.
        "--node-port=0",
    ]


def _kwok(site: Site) -> list[str]:
    return kwok_arguments(site.kubeconfig, site.stages)


def _disabled_admission(options: Options) -> list[str]:
    # TaintNodesByCondition taints every new node, and here no controller removes the taint.
    always = ["TaintNodesByCondition"]
    return always if options.service_account_admission else [*always, "ServiceAccount"]


def _native_gangs(options: Options) -> list[str]:
    return [NATIVE_GANGS] if options.native_gangs else []


def version_of_native_pod_groups() -> str:
    """Return the version of scheduling.k8s.io in which the chosen Kubernetes serves PodGroups."""
    minor = builds.minor_of_kubernetes()
    if minor not in NATIVE_POD_GROUPS:
        raise errors.ControlPlaneError(f"Kubernetes {minor} has no PodGroups of its own")
    return NATIVE_POD_GROUPS[minor]


def _native_pod_groups(options: Options) -> list[str]:
    if not options.native_gangs:
        return []
    return [f"--runtime-config=scheduling.k8s.io/{version_of_native_pod_groups()}=true"]


def _unlimited(options: Options) -> list[str]:
    if options.api_priority_and_fairness:
        return []
    return [
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=20000",
        "--max-mutating-requests-inflight=20000",
    ]


def _audit(site: Site) -> list[str]:
    if not site.options.audit:
        return []
    return [
        f"--audit-policy-file={site.audit_policy}",
        f"--audit-log-path={site.audit_log}",
        # Never rotated: readers keep an offset into the one file.
        "--audit-log-maxsize=100000",
    ]


ARGUMENTS: dict[str, Callable[[Site], list[str]]] = {
    "etcd": _etcd,
    "kube-apiserver": _kube_apiserver,
    "kube-controller-manager": _kube_controller_manager,
    "kube-scheduler": _kube_scheduler,
    "kwok": _kwok,
}
