"""Build pinned binaries with Go into the user's cache, never silently and never twice at once.

Called by `binaries.py` when a binary is found nowhere else, and by those that need files that
travel with a Go module: `stages.py`, and the manifests of `tools.controllers`. The versions are
those of the go.mod files below `binaries/`, so an update of a dependency is an edit of one line
there.

    CONTROLPLANE_KUBERNETES   the minor version of Kubernetes, such as 1.36: of `kubernetes`, the
                              default, or of a directory `kubernetes-MINOR` there
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.controlplane import errors

MODULES = Path(__file__).parent / "binaries"
HEARTBEAT_SECONDS = 5.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """Where a binary comes from, and how long its first build takes on two cores."""

    module: str  # directory below binaries/
    requires: str  # Go module whose version is the binary's
    package: str
    cold_minutes: int
    tags: str = ""  # build tags of Go


def _kubernetes(name: str, cold_minutes: int) -> Source:
    return Source("kubernetes", "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}", cold_minutes)


def _prometheus(name: str, cold_minutes: int) -> Source:
    module = "github.com/prometheus/prometheus"
    # Without the discovery of targets in every cloud there is: most of its build, none of our use.
    return Source("prometheus", module, f"{module}/cmd/{name}", cold_minutes, "remove_all_sd")


# The API server is asked for first and its build pays for what the four of Kubernetes share.
SOURCES = {
    "etcd": Source("etcd", "go.etcd.io/etcd/server/v3", ".", 1),
    "kube-apiserver": _kubernetes("kube-apiserver", 5),
    "kube-controller-manager": _kubernetes("kube-controller-manager", 2),
    "kube-scheduler": _kubernetes("kube-scheduler", 1),
    "kubectl": _kubernetes("kubectl", 1),
    "kwok": Source("kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", 2),
    "helm": Source("helm", "helm.sh/helm/v4", "helm.sh/helm/v4/cmd/helm", 2),
    # What is watched by people: the server that reads our metrics, and what checks our rules.
    "prometheus": _prometheus("prometheus", 6),
    "promtool": _prometheus("promtool", 1),
    # Builds images without a container engine: `tools.image`.
    "crane": Source(
        "crane",
        "github.com/google/go-containerregistry",
        "github.com/google/go-containerregistry/cmd/crane",
        1,
    ),
    # kube-scheduler's allocator of devices, asked line by line: `differential.devices`.
    "device-allocator": Source("device-allocator", "k8s.io/dynamic-resource-allocation", ".", 3),
    # Checks the workflows in .github.
    "actionlint": Source(
        "actionlint",
        "github.com/rhysd/actionlint",
        "github.com/rhysd/actionlint/cmd/actionlint",
        1,
    ),
    # Controllers of jobs: `tools.controllers` runs them.
    "jobset": Source("jobset", "sigs.k8s.io/jobset", "sigs.k8s.io/jobset", 4),
    "lws": Source("lws", "sigs.k8s.io/lws", "sigs.k8s.io/lws/cmd", 4),
    "mpi-operator": Source("mpi-operator", "github.com/kubeflow/mpi-operator", ".", 4),
    "training-operator": Source(
        "training-operator",
        "github.com/kubeflow/training-operator",
        "github.com/kubeflow/training-operator/cmd/training-operator.v1",
        5,
    ),
    "kuberay": Source(
        "kuberay",
        "github.com/ray-project/kuberay/ray-operator",
        "github.com/ray-project/kuberay/ray-operator",
        5,
    ),
}


def say_on_stderr(line: str) -> None:
    """Print one line of progress at once: stdout belongs to the caller."""
    print(line, file=sys.stderr, flush=True)


def cache_directory() -> Path:
    """Return the directory that keeps our binaries between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "py-gang-scheduler"


def pinned_version(name: str) -> str:
    """Return the version of a binary as its go.mod pins it, such as v1.2.3."""
    return _required(SOURCES[name].requires, directory(name))


def minor_of_kubernetes() -> str:
    """Return the minor version of Kubernetes that is chosen, such as 1.36."""
    return _minor(pinned_version("kube-apiserver"))


def directory(name: str) -> Path:
    """Return the directory of the Go module that a binary is built in."""
    source = SOURCES[name]
    default = MODULES / source.module
    minor = os.environ.get("CONTROLPLANE_KUBERNETES")
    if source.module != "kubernetes" or not minor:
        return default
    there = {
        _minor(_required(source.requires, each)): each
        for each in (default, *MODULES.glob("kubernetes-*"))
    }
    if minor not in there:
        known = ", ".join(sorted(there))
        raise errors.ControlPlaneError(f"CONTROLPLANE_KUBERNETES={minor}: choose from {known}")
    return there[minor]


def _required(module: str, where: Path) -> str:
    go_mod = (where / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise errors.ControlPlaneError(f"{where.name}/go.mod does not require {module}")
    return found[1]


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def cached_path(name: str) -> Path:
    """Return where the build of a binary is kept, whether or not it is there yet."""
    return cache_directory() / f"{name}-{pinned_version(name)}"


def build(name: str, say: Say = say_on_stderr) -> Path:
    """Return the cached binary, built first where it is missing. Minutes when cold."""
    target = cached_path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(target.parent / "build.lock", say):
        # Another process may have built it while we waited for the lock.
        if not target.exists():
            _build_into(target, name, say)
    return target


def files_of_module(name: str, module: str = "") -> Path:
    """Return the directory of the module of a binary, or of one that it is built with.

    Go keeps it; a download when cold. Raises ControlPlaneError without Go, or without a way to it.
    """
    done = subprocess.run(
        [go_program(), "mod", "download", "-json", module or SOURCES[name].requires],
        cwd=directory(name),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise errors.ControlPlaneError(
            f"cannot get the files of {name}:\n{done.stderr}{done.stdout}"
        )
    return Path(json.loads(done.stdout)["Dir"])


def go_program() -> str:
    """Return the path of Go, or explain how to get along without it."""
    found = shutil.which("go")
    if found is None:
        raise errors.ControlPlaneError(
            "Go is not on PATH, and is needed to build the control plane for the first time: "
            "install Go 1.26 or newer (https://go.dev/dl/), or point KUBEBUILDER_ASSETS to a "
            f"directory with the binaries: {', '.join(SOURCES)}"
        )
    return found


def _build_into(target: Path, name: str, say: Say) -> None:
    source = SOURCES[name]
    # A temporary name of its own, then a rename: a killed build never leaves half a binary.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    command = [go_program(), "build", "-trimpath", "-buildvcs=false", "-tags", source.tags]
    command += ["-ldflags", _ldflags(name), "-o", str(unfinished), source.package]
    say(f"building {target.name}: about {source.cold_minutes} min the first time")
    started = time.monotonic()
    try:
        _run_with_heartbeat(command, directory(name), name, say)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    say(f"built {target.name} in {time.monotonic() - started:.0f} s")


def _ldflags(name: str) -> str:
    if SOURCES[name].module != "kubernetes":
        return "-s -w"
    # Without a version the API server refuses to start: it checks which one it emulates.
    version = pinned_version(name)
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    set_all = (f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items())
    return " ".join(["-s -w", *set_all])


def _run_with_heartbeat(command: list[str], module: Path, name: str, say: Say) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0"}
    started = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=module,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        output = ""
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=HEARTBEAT_SECONDS)
                    break
                say(f"  still building {name}: {time.monotonic() - started:.0f} s")
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise errors.ControlPlaneError(f"the build of {name} failed:\n{output}")


@contextlib.contextmanager
def _one_at_a_time(lock: Path, say: Say) -> Iterator[None]:
    with lock.open("w") as held:
        waited = 0.0
        while not _try_lock(held.fileno()):
            if waited % HEARTBEAT_SECONDS == 0:
                say(f"waiting for another process to finish its build: {waited:.0f} s")
            time.sleep(0.5)
            waited += 0.5
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
