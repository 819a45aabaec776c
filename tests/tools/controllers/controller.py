"""One controller beside a control plane: its CRDs, its process and its webhooks."""

import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tools.controllers import manifests, webhooks
from tools.controllers.table import CONTROLLERS, Site
from tools.controlplane import binaries, errors
from tools.controlplane.cluster import Cluster

START_SECONDS = 60.0
GRACE_SECONDS = 10.0
POLL_SECONDS = 0.1


class Controller:
    """A controller of the table. Nothing of it is there until it is asked for."""

    def __init__(self, cluster: Cluster, name: str, *flags: str) -> None:
        self.cluster = cluster
        self.name = name
        self._row = CONTROLLERS[name]
        self._flags = flags
        self._site = Site(cluster.directory / f"controller-{name}")
        self._webhooks = manifests.webhooks(self._row)

    @property
    def log(self) -> Path:
        """What it wrote; spans restarts."""
        return self.cluster.processes.log(self.name)

    def install_crds(self) -> None:
        """Install its CRDs, and wait until they are served."""
        manifests.install(self.cluster, manifests.crds(self._row))

    def remove_crds(self) -> None:
        """Remove its CRDs with all objects. Where these have its finalizers, it must run."""
        names = [each["metadata"]["name"] for each in manifests.crds(self._row)]
        self.cluster.kubectl("delete", "crd", "--ignore-not-found", "--timeout=60s", *names)

    def start(self) -> None:
        """Start the process, wait until it is ready, and have the API server call its webhooks."""
        self._prepare()
        program = binaries.find(self._row.program)
        variables = [f"KUBECONFIG={self.cluster.kubeconfig}", f"TMPDIR={self._site.directory}"]
        command = [str(program), *self._row.arguments(self._site), *self._flags]
        self.cluster.processes.start(self.name, ["env", *variables, *command])
        self._wait_until_ready()
        self._apply_webhooks()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Have it do nothing until the block ends, nor the API server ask it."""
        self._remove_webhooks()
        try:
            with self.cluster.processes.paused(self.name):
                yield
        finally:
            self._apply_webhooks()

    def stop(self) -> None:
        """End the process; before that, the API server's calls, which would fail."""
        self._remove_webhooks()
        if self.name in self.cluster.processes.running():
            self.cluster.processes.stop(self.name, GRACE_SECONDS)

    def _prepare(self) -> None:
        if not self._site.certificates.exists():
            webhooks.write_certificate(self._site.certificates)
        namespace, _, secret = self._row.secret.partition("/")
        if secret:
            made = webhooks.secret(secret, self._site.certificates)
            made["metadata"]["namespace"] = namespace
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            manifests.apply(self.cluster, [space, made])
            # What it finds there it changes only in place.
            self._apply_webhooks()

    def _apply_webhooks(self) -> None:
        addressed = [webhooks.by_address(each, self._site) for each in self._webhooks]
        manifests.apply(self.cluster, addressed)

    def _remove_webhooks(self) -> None:
        for each in self._webhooks:
            name = f"{each['kind']}/{each['metadata']['name']}"
            self.cluster.kubectl("delete", "--ignore-not-found", name)

    def _wait_until_ready(self) -> None:
        paths = [webhooks.path(hook) for each in self._webhooks for hook in each["webhooks"]]
        deadline = time.monotonic() + START_SECONDS
        while not (self._is_healthy() and webhooks.all_answer(paths, self._site)):
            self.cluster.processes.check()
            if time.monotonic() > deadline:
                tail = errors.tail(self.log)
                raise errors.ControlPlaneError(f"{self.name} is not ready; its log ends:\n{tail}")
            time.sleep(POLL_SECONDS)

    def _is_healthy(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self._site.health_port}/healthz"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@contextlib.contextmanager
def running(cluster: Cluster, name: str, *flags: str) -> Iterator[Controller]:
    """Run a controller of the table, with its CRDs, until the block ends; the CRDs stay."""
    controller = Controller(cluster, name, *flags)
    controller.install_crds()
    try:
        controller.start()
        yield controller
    finally:
        controller.stop()
