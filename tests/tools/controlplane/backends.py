"""Which cluster tests run against: our local control plane, unless another is asked for by name.

    E2E_CLUSTER   local (the default), kind, or existing
    E2E_KUBECONFIG, E2E_ALLOW_EXISTING=1
                      both are needed for `existing`, and the first alone selects it: tests create
                      and delete objects of all kinds, so neither KUBECONFIG nor the kubeconfig in
                      the home directory is ever taken

Our own tests cover `local`, and `existing` against a local control plane. `kind` needs docker and
has never been run: treat its first failure as a fault here.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.controlplane import (
    binaries,
    builds,
    cluster,
    components,
    credentials,
    directories,
    errors,
    plane,
    stages,
)
from tools.controlplane.options import Options
from tools.controlplane.processes import Processes


def open_cluster(
    options: Options = plane.DEFAULT_OPTIONS, say: builds.Say = builds.say_on_stderr
) -> cluster.Cluster:
    """Return the cluster that the environment asks for. Of a foreign one, only KWOK is ours."""
    kubeconfig = os.environ.get("E2E_KUBECONFIG")
    name = os.environ.get("E2E_CLUSTER") or ("existing" if kubeconfig else "local")
    if name not in BACKENDS:
        raise errors.ControlPlaneError(f"E2E_CLUSTER={name}: choose from {', '.join(BACKENDS)}")
    return BACKENDS[name](options, say)


def existing(kubeconfig: Path, options: Options, say: builds.Say) -> cluster.Cluster:
    """Use the cluster of a kubeconfig; stop() leaves it as it is, but ends KWOK."""
    directory, lock = directories.create()
    processes = Processes(directory, lock)
    try:
        admin = credentials.read_kubeconfig(kubeconfig, directory)
        found = cluster.Cluster(kubeconfig, admin, processes, say)
        if options.kwok:
            _run_kwok(found, options, say)
    except BaseException:
        processes.close()
        raise
    return found


class KindCluster(cluster.Cluster):
    """A cluster of kind, deleted by stop()."""

    name = ""

    def stop(self) -> None:
        """Delete the cluster. May be called twice."""
        if self.directory.exists():
            _kind("delete", "cluster", f"--name={self.name}")
        super().stop()


def _local(options: Options, say: builds.Say) -> cluster.Cluster:
    return plane.start(options, say)


def _existing_by_environment(options: Options, say: builds.Say) -> cluster.Cluster:
    kubeconfig = os.environ.get("E2E_KUBECONFIG")
    if not kubeconfig or os.environ.get("E2E_ALLOW_EXISTING") != "1":
        raise errors.ControlPlaneError(
            "tests change the cluster they run on: to use an existing one, name its file in "
            "E2E_KUBECONFIG and set E2E_ALLOW_EXISTING=1"
        )
    return existing(Path(kubeconfig), options, say)


def kind(options: Options, say: builds.Say) -> cluster.Cluster:
    """Make a cluster of kind; stop() deletes it."""
    if not (shutil.which("kind") and shutil.which("docker")):
        raise errors.ControlPlaneError("a cluster of kind needs kind and docker on PATH")
    directory, lock = directories.create()
    processes = Processes(directory, lock)
    kubeconfig = directory / "kubeconfig"
    name = f"pgs-e2e-{secrets.token_hex(3)}"
    say(f"creating the kind cluster {name}: about a minute")
    try:
        _kind("create", "cluster", f"--name={name}", f"--kubeconfig={kubeconfig}", "--wait=180s")
        admin = credentials.read_kubeconfig(kubeconfig, directory)
        made = KindCluster(kubeconfig, admin, processes, say)
        made.name = name
        if options.kwok:
            _run_kwok(made, options, say)
    except BaseException:
        _kind("delete", "cluster", f"--name={name}")
        processes.close()
        raise
    return made


def _run_kwok(target: cluster.Cluster, options: Options, say: builds.Say) -> None:
    configuration = target.directory / "stages.yaml"
    stages.write(configuration, options.pod_complete_seconds)
    program = str(binaries.find("kwok", say))
    arguments = components.kwok_arguments(target.kubeconfig.resolve(), configuration)
    target.processes.start("kwok", [program, *arguments])


def _kind(*arguments: str) -> None:
    done = subprocess.run(["kind", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.ControlPlaneError(f"kind {' '.join(arguments)} failed:\n{done.stderr}")


BACKENDS: dict[str, Callable[[Options, builds.Say], cluster.Cluster]] = {
    "local": _local,
    "existing": _existing_by_environment,
    "kind": kind,
}
