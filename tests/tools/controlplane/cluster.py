"""What tests may do with any cluster: ours, one that exists, or one of kind."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tools.controlplane import access, binaries, builds, errors, nodes
from tools.controlplane.processes import Processes


class Cluster:
    """A cluster reached as its administrator. A context manager: leaving it stops it."""

    def __init__(
        self,
        kubeconfig: Path,
        admin: access.Access,
        processes: Processes,
        say: builds.Say = builds.say_on_stderr,
    ) -> None:
        self.kubeconfig = kubeconfig
        self.access = admin
        self.processes = processes
        self._say = say

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def directory(self) -> Path:
        """The temporary directory with kubeconfig, logs and data; removed by stop()."""
        return self.processes.directory

    @property
    def url(self) -> str:
        """The address of the API server."""
        return self.access.url

    @property
    def token(self) -> str | None:
        """The administrator's token; None where a client certificate is used."""
        return self.access.token

    @property
    def ca_file(self) -> Path | None:
        """The certificate by which the API server is known."""
        return self.access.ca_file

    def stop(self) -> None:
        """End what was started and remove the directory. May be called twice."""
        self.processes.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send one request to the API server and return the decoded answer; raise on an error."""
        with access.Client(self.access) as client:
            return client.request(method, path, body).check().body

    def kubectl(self, *arguments: str, input: str | None = None, check: bool = True) -> str:  # noqa: A002 - subprocess's name for it.
        """Run kubectl as administrator and return its stdout; raise with stderr when it fails."""
        program = binaries.find("kubectl", self._say)
        # Its discovery cache would else go to the home directory and outlive this cluster.
        own = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.directory / 'kubectl'}"]
        done = subprocess.run(
            [program, *own, *arguments], input=input, capture_output=True, text=True, check=False
        )
        if check and done.returncode != 0:
            raise errors.ControlPlaneError(
                f"kubectl {' '.join(arguments)} failed:\n{done.stderr}{done.stdout}"
            )
        return done.stdout

    def nodes(
        self,
        count: int,
        prefix: str = "node-",
        *,
        labels: nodes.Labels | None = None,
        allocatable: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        first: int = 0,
    ) -> list[str]:
        """Create fake nodes, numbered from `first`, and return their names.

        Labels are the same for all, or a function of the number (see `nodes.layers`).
        """
        room = nodes.DEFAULT_ALLOCATABLE if allocatable is None else allocatable
        manifests = [
            nodes.manifest(
                f"{prefix}{index}",
                labels(index) if callable(labels) else labels or {},
                room,
                taints,
            )
            for index in range(first, first + count)
        ]
        nodes.create(self.access, manifests)
        return [node["metadata"]["name"] for node in manifests]
