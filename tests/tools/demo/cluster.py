"""The cluster of `make up`: the nodes of a file, our CRDs, the operator, and needs of examples."""

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools import controllers, controlplane, foreign_crds, kubelet
from tools.controlplane import builds, errors, nodes
from tools.demo import examples
from tools.jobset import standin
from tools.kubelet import logs

CHECKOUT = Path(__file__).resolve().parents[3]
HOME = "home"
"""The claim that members share where containers run as processes."""
FLAGS = ("--log-format=console", "--manage-job=Job", "--manage-job=JobSet")


@contextlib.contextmanager
def running(
    say: builds.Say = builds.say_on_stderr,
    nodes_file: Path = examples.GPU_NODES,
    needs: Collection[str] = (),
) -> Iterator[tuple[controlplane.ControlPlane, controlplane.Scheduler]]:
    """Start everything, and end it with the block. Seconds, once the binaries are built."""
    with (
        controlplane.start(options(needs), say) as plane,
        furnished(plane, say, nodes_file, needs) as scheduler,
    ):
        try:
            yield plane, scheduler
        except TimeoutError:
            say(f"the end of the scheduler's log:\n{errors.tail(scheduler.log)}")
            raise


def options(needs: Collection[str]) -> controlplane.Options:
    """Return what a control plane must be started with, so that it has what examples need."""
    return controlplane.Options(native_gangs=examples.NATIVE_GANGS in needs)


@contextlib.contextmanager
def furnished(
    plane: controlplane.ControlPlane,
    say: builds.Say,
    nodes_file: Path,
    needs: Collection[str],
) -> Iterator[controlplane.Scheduler]:
    """Put nodes, CRDs and the operator into a control plane; the operator ends with it."""
    with contextlib.ExitStack() as kubelets:
        runs = kubelets.enter_context(_processes(plane, say)) if examples.PROCESSES in needs else {}
        _create_nodes(plane, say, nodes_file, runs)
        with _installed(plane, say, needs) as scheduler:
            yield scheduler


@contextlib.contextmanager
def _installed(
    plane: controlplane.ControlPlane, say: builds.Say, needs: Collection[str]
) -> Iterator[controlplane.Scheduler]:
    say("installing the CRDs of crds/")
    crds = str(CHECKOUT / "crds")
    plane.kubectl("apply", "-f", crds)
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
    if examples.KUEUE in needs:
        _install_kueue(plane, say)
    with contextlib.ExitStack() as beside:
        if examples.JOB_SET in needs:
            beside.enter_context(_job_sets(plane, say))
        for name in sorted(examples.CONTROLLERS.intersection(needs)):
            say(f"installing the CRDs of {name}, and starting it")
            beside.enter_context(controllers.running(plane, name))
        say("starting the scheduler")
        scheduler = controlplane.Scheduler(plane, *FLAGS)
        scheduler.start()
        yield scheduler


@contextlib.contextmanager
def _processes(plane: controlplane.ControlPlane, say: builds.Say) -> Iterator[dict[str, Any]]:
    """Play kubelets that run containers as processes; give the status of their nodes."""
    with (
        kubelet.running(plane, kubelet.PLACES) as kubelets,
        logs.serving(kubelets.directory, kubelets.find) as port,
    ):
        say("containers run as processes of this machine, with its programs: images are not used")
        (kubelets.shared / HOME).mkdir(parents=True)
        say(f"the claim home is the directory {kubelets.shared / HOME}")
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*_home()]})
        plane.kubectl("apply", "--filename=-", input=items)
        yield {
            "addresses": [{"type": "InternalIP", "address": logs.ADDRESS}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }


def _home() -> Iterator[dict[str, Any]]:
    """Yield a claim in the default namespace, and its volume, which all nodes reach."""
    claim = {"name": HOME, "namespace": "default"}
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": HOME},
        "spec": {
            **common,
            "capacity": {"storage": "1Gi"},
            "claimRef": claim,
            "nfs": {"server": "home.example.com", "path": f"/{HOME}"},
        },
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": claim,
        "spec": {**common, "volumeName": HOME, "resources": {"requests": {"storage": "1Gi"}}},
    }


def _create_nodes(
    plane: controlplane.ControlPlane, say: builds.Say, nodes_file: Path, runs: Mapping[str, Any]
) -> None:
    made = [_node(each, runs) for each in yaml.safe_load_all(nodes_file.read_text())]
    say(f"creating the {len(made)} nodes of {_shown(nodes_file)}")
    nodes.create(plane.access, made)


@contextlib.contextmanager
def _job_sets(plane: controlplane.ControlPlane, say: builds.Say) -> Iterator[None]:
    say("installing the CRD of JobSets, with a stand-in for their controller")
    standin.install(plane)
    with standin.playing(plane):
        yield


def _install_kueue(plane: controlplane.ControlPlane, say: builds.Say) -> None:
    say("installing the CRDs of Kueue's queues; its controller is not needed")
    crds = list(foreign_crds.queues_of_kueue())
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
    plane.kubectl("apply", "--server-side", "--filename=-", input=items)
    names = [f"crd/{each['metadata']['name']}" for each in crds]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)


def _shown(path: Path) -> Path:
    return path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path


def label_keys(nodes_file: Path) -> list[str]:
    """Return the keys of all labels that nodes have in a file, in the order of the file."""
    documents = yaml.safe_load_all(nodes_file.read_text())
    return list(
        dict.fromkeys(key for each in documents for key in each["metadata"].get("labels", {}))
    )


def _node(document: dict[str, Any], runs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node like one in a manifest. KWOK looks after it, or it `runs` processes."""
    metadata, status = document["metadata"], document["status"]
    labels = metadata.get("labels", {}) | (kubelet.LABELS if runs else {})
    made = nodes.manifest(metadata["name"], labels, status["allocatable"])
    return {**made, "status": {**made["status"], **runs}}
