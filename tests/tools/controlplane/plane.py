"""The local control plane itself: start its components, wait for them, restart them one by one."""

import http.client
import time
from collections.abc import Callable
from pathlib import Path

from tools.controlplane import (
    access,
    binaries,
    builds,
    cluster,
    components,
    credentials,
    directories,
    errors,
    stages,
)
from tools.controlplane.options import Options
from tools.controlplane.processes import Processes

POLL_SECONDS = 0.05
HEARTBEAT_SECONDS = 5.0
PORT_ATTEMPTS = 3
GRACE_SECONDS = 15.0
DEFAULT_OPTIONS = Options()


class ControlPlane(cluster.Cluster):
    """A running local control plane; `start` makes them."""

    def __init__(
        self, site: components.Site, token: str, processes: Processes, say: builds.Say
    ) -> None:
        self.site = site
        admin = access.Access(site.url, ca_file=site.ca_file, token=token)
        super().__init__(site.kubeconfig, admin, processes, say)

    @property
    def options(self) -> Options:
        """What it was started with."""
        return self.site.options

    @property
    def audit_log(self) -> Path:
        """The audit log; there is one when the options ask for it."""
        return self.site.audit_log

    def start_component(self, name: str) -> None:
        """Start a stopped component with the same data and port, and wait until it serves."""
        self._launch(name)
        self._wait_until_ready()

    def stop_component(self, name: str, *, graceful: bool = False) -> None:
        """End one component: kill -9, or SIGTERM and some patience."""
        self.processes.stop(name, GRACE_SECONDS if graceful else 0.0)

    def restart(self, name: str, *, graceful: bool = False) -> None:
        """End one component and start it again, as after a crash or an update."""
        self.stop_component(name, graceful=graceful)
        self.start_component(name)

    def cpu_seconds(self, name: str) -> float:
        """Return the CPU time of a component since its last start."""
        return self.processes.cpu_seconds(name)

    def peak_memory_bytes(self, name: str) -> int:
        """Return the largest resident size of a component since its last start."""
        return self.processes.peak_memory_bytes(name)

    def log(self, name: str) -> Path:
        """Return the log file of a component."""
        return self.processes.log(name)

    def bring_up(self) -> None:
        """Start all components in order. Called once, by `start`."""
        # 1. The API server waits for etcd by itself: both start at once.
        self._launch("etcd")
        self._launch("kube-apiserver")
        self._wait_until_ready()
        # 2. The API server has now written the certificate that the kubeconfig holds.
        credentials.write_kubeconfig(self.kubeconfig, self.access)
        # 3. The clients of the API server.
        for name in self.options.components[2:]:
            self._launch(name)
        # 4. The first sign of life of the controller manager.
        if self.options.controller_manager:
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            self._wait_for("the controller manager", lambda: self._exists(account))

    def _launch(self, name: str) -> None:
        program = binaries.find(name, self._say)
        self.processes.start(name, [str(program), *components.arguments(name, self.site)])

    def _wait_until_ready(self) -> None:
        running = self.processes.running()
        # Without one of the two there is nothing that could be ready.
        if "etcd" in running and "kube-apiserver" in running:
            self._wait_for("the API server", self._serves)

    def _serves(self) -> bool:
        # Ready says little of etcd just after its restart, and `default` is made a moment after
        # the first start: the second request reads it from etcd, past all caches.
        return self._exists("/readyz") and self._exists("/api/v1/namespaces/default")

    def _exists(self, path: str) -> bool:
        try:
            with access.Client(self.access) as client:
                return client.request("GET", path).status == 200
        except (OSError, http.client.HTTPException):
            # Not listening yet, or its certificate is not written yet.
            return False

    def _wait_for(self, what: str, is_there: Callable[[], bool]) -> None:
        started = said = time.monotonic()
        while not is_there():
            self.processes.check()
            now = time.monotonic()
            if now - started > self.options.start_timeout_seconds:
                raise errors.ControlPlaneError(f"{what} is not ready after {now - started:.0f} s")
            if now - said > HEARTBEAT_SECONDS:
                said = now
                self._say(f"  waiting for {what}: {now - started:.0f} s")
            time.sleep(POLL_SECONDS)


def start(
    options: Options = DEFAULT_OPTIONS, say: builds.Say = builds.say_on_stderr
) -> ControlPlane:
    """Start a control plane and return it ready: about 5 s, minutes when binaries must be built.

    It ends with `stop()`, with its `with` block, or with this process, however that ends.
    """
    # Before anything starts, so that a build does not hold up half a control plane.
    for name in options.components:
        binaries.find(name, say)
    say(f"starting {', '.join(options.components)}")
    for attempt in range(1, PORT_ATTEMPTS + 1):
        try:
            return _start_once(options, say)
        except errors.ComponentDied as death:
            if not death.port_was_taken or attempt == PORT_ATTEMPTS:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _start_once(options: Options, say: builds.Say) -> ControlPlane:
    directory, lock = directories.create()
    processes = Processes(directory, lock)
    try:
        plane = _prepare(components.Site(directory, options), processes, say)
        plane.bring_up()
    except BaseException:
        processes.close()
        raise
    return plane


def _prepare(site: components.Site, processes: Processes, say: builds.Say) -> ControlPlane:
    token = credentials.new_token()
    credentials.write_token_file(site.token_file, token)
    credentials.write_signing_key(site.signing_key)
    if site.options.kwok:
        stages.write(site.stages, site.options.pod_complete_seconds)
    if site.options.audit:
        site.audit_policy.write_text(components.AUDIT_POLICY)
        site.audit_log.touch()
    return ControlPlane(site, token, processes, say)
