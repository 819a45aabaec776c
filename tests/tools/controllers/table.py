"""A row a controller: where its manifests are, and how it is started as a bare process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tools.controlplane import components


@dataclass(frozen=True)
class Site:
    """Where one controller lives: its files, with its certificate among them, and its ports."""

    directory: Path
    health_port: int = field(default_factory=components.free_port)
    webhook_port: int = field(default_factory=components.free_port)

    @property
    def certificates(self) -> Path:
        """tls.crt and tls.key of webhooks: where controller-runtime looks below TMPDIR."""
        return self.directory / "k8s-webhook-server" / "serving-certs"


@dataclass(frozen=True)
class Row:
    """One controller."""

    program: str
    """What it is called in `builds.SOURCES`."""
    kustomization: str
    """The directory of its module that its users apply."""
    arguments: Callable[[Site], list[str]]
    """What it is started with. Writes the files that it needs beside its certificate."""
    kinds: tuple[str, ...] = ()
    """The plurals of the CRDs that it has here; all of its module where there are none."""
    secret: str = ""
    """namespace/name of the Secret that it reads its certificate from, if it does."""


def _jobset(site: Site) -> list[str]:
    return _configured(site, "config.jobset.x-k8s.io/v1alpha1")


def _lws(site: Site) -> list[str]:
    return _configured(site, "config.lws.x-k8s.io/v1alpha1")


def _configured(site: Site, api_version: str) -> list[str]:
    configuration = {
        "apiVersion": api_version,
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": "127.0.0.1",
            "port": site.webhook_port,
            "certDir": str(site.certificates),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{site.health_port}"},
    }
    file = site.directory / "configuration.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return [f"--config={file}"]


def _training_operator(*kinds: str) -> Row:
    """Return the row of an operator that serves some of its kinds."""

    def arguments(site: Site) -> list[str]:
        # It reads its certificate below TMPDIR, but waits for one here, whatever is in it.
        WAITS_FOR.parent.mkdir(parents=True, exist_ok=True)
        WAITS_FOR.touch()
        return [
            *(f"--enable-scheme={each.removesuffix('s')}" for each in kinds),
            "--metrics-bind-address=0",
            f"--health-probe-bind-address=127.0.0.1:{site.health_port}",
            f"--webhook-server-port={site.webhook_port}",
        ]

    return Row(
        "training-operator",
        "manifests/overlays/standalone",
        arguments,
        kinds,
        secret="kubeflow/training-operator-webhook-cert",  # noqa: S106 - a name.
    )


def _mpi_operator(site: Site) -> list[str]:
    return [
        f"--health-port={site.health_port}",
        "--lock-namespace=default",
        "--kube-api-qps=100",
        "--kube-api-burst=100",
    ]


def _kuberay(site: Site) -> list[str]:
    # Its webhooks are off unless its environment says otherwise.
    return [
        "--enable-leader-election=false",
        "--metrics-addr=0",
        f"--health-probe-bind-address=127.0.0.1:{site.health_port}",
    ]


WAITS_FOR = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")  # noqa: S108 - its own constant.
CONTROLLERS = {
    "jobset": Row("jobset", "config/default", _jobset),
    "lws": Row("lws", "config/default", _lws),
    "mpi-operator": Row("mpi-operator", "manifests/base", _mpi_operator),
    "training-operator": _training_operator("tfjobs", "pytorchjobs", "xgboostjobs", "paddlejobs"),
    # Their CRD is that of mpi-operator in another version, so the two exclude each other.
    "training-operator-mpi": _training_operator("mpijobs"),
    "kuberay": Row("kuberay", "config/default", _kuberay),
}
