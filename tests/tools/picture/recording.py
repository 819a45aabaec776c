"""Runs gangs on a local control plane, and writes down where their pods are and what they say."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tools import controlplane

NODES: Final = 16
NODES_IN_A_RACK: Final = 4
GPUS: Final = 8
RACK: Final = "network.topology.nvidia.com/block"
POLL_SECONDS: Final = 0.1
PAUSE_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 60.0
CRDS: Final = Path(__file__).parents[3] / "crds"
TOPOLOGY: Final[Mapping[str, Any]] = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "Rack", "labelKey": [RACK]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "Rack"},
        ]
    },
}
URGENT: Final[Mapping[str, Any]] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


class Frame(NamedTuple):
    """A moment: `seconds` since the start, what was done last, pods and gangs.

    `pods` are the node and the gang of each bound pod, `gangs` what each PodGroup says of itself.
    """

    seconds: float
    done: str
    pods: dict[str, tuple[str, str]]
    gangs: dict[str, str]


class Recorder:
    """Looks at a cluster again and again, in a thread of its own."""

    def __init__(self, plane: controlplane.ControlPlane) -> None:
        self.frames: list[Frame] = []
        self.done = ""
        self._plane = plane
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def until(self, is_so: Callable[[Frame], bool]) -> None:
        """Wait until a frame shows something; raise TimeoutError with the last one otherwise."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen = len(self.frames)
        while len(self.frames) == seen or not is_so(self.frames[-1]):
            if time.monotonic() > deadline:
                raise TimeoutError(str(self.frames[-1:]))
            time.sleep(POLL_SECONDS)

    def _run(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            pods = self._list("api/v1/namespaces/default/pods")
            groups = self._list("apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups")
            frame = Frame(
                time.monotonic() - self._began,
                self.done,
                {
                    each["metadata"]["name"]: (each["spec"]["nodeName"], _gang(each))
                    for each in pods
                    if each["spec"].get("nodeName") and "deletionTimestamp" not in each["metadata"]
                    if each.get("status", {}).get("phase") not in ("Succeeded", "Failed")
                },
                {each["metadata"]["name"]: said(each) for each in groups},
            )
            self.frames.append(frame)

    def _list(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._plane.request("GET", f"/{path}")["items"]
        return found


def said(group: Mapping[str, Any]) -> str:
    """Return what the status of a PodGroup says, in a few words."""
    status = group.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if phase == "Running":
        return f"Running, {status.get('running', 0)} of {group['spec']['minMember']}"
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    message = str(conditions.get("Scheduled", {}).get("message") or "")
    return f"Waits: {message.split('. ', maxsplit=1)[0]}" if message else phase


def gang(name: str, workers: int, *, urgent: bool = False) -> list[Any]:
    """Return a PodGroup and a Job of so many workers that take a whole node each."""
    spec = {"gatherStrategy": [{"layer": "Rack", "strategy": "PreferGather"}]}
    marks = {"gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(spec)}
    container = {
        "name": "worker",
        "image": "none",
        "resources": {"limits": {"nvidia.com/gpu": str(GPUS)}},
    }
    ignored = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [143]}},
    ]
    return [
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "annotations": marks},
            "spec": {"minMember": workers},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "parallelism": workers,
                "completions": workers,
                "completionMode": "Indexed",
                "backoffLimitPerIndex": 1,
                "podFailurePolicy": {"rules": ignored},
                "template": {
                    "metadata": {"labels": {"pod-group.scheduling.sigs.k8s.io": name}},
                    "spec": {
                        "schedulerName": "py-gang-scheduler",
                        "restartPolicy": "Never",
                        "priorityClassName": "urgent" if urgent else "",
                        "containers": [container],
                    },
                },
            },
        },
    ]


def record(say: Callable[[str], object]) -> list[Frame]:
    """Run the story on a control plane that lives as long as this call, and return its frames."""
    with controlplane.start() as plane:
        allocatable = {"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
        plane.nodes(
            NODES,
            labels=lambda index: {RACK: f"rack-{index // NODES_IN_A_RACK}"},
            allocatable=allocatable,
        )
        plane.kubectl("apply", f"--filename={CRDS}")
        plane.kubectl("wait", "--for=condition=Established", f"--filename={CRDS}")
        _apply(plane, TOPOLOGY, URGENT)
        with controlplane.Scheduler(plane), Recorder(plane) as recorder:
            story = _Story(plane, recorder, say)
            story.start("pretrain", 8)
            story.start("sweep", 4)
            story.wait_for("finetune", 6)
            story.start("release", 5, urgent=True)
            story.end("pretrain")
        return recorder.frames


class _Story:
    def __init__(
        self,
        plane: controlplane.ControlPlane,
        recorder: Recorder,
        say: Callable[[str], object],
    ) -> None:
        self._plane = plane
        self._recorder = recorder
        self._say = say

    def start(self, name: str, workers: int, *, urgent: bool = False) -> None:
        """Submit a gang, and wait until all of it runs."""
        self._submit(name, workers, urgent=urgent)
        self._until(lambda frame: frame.gangs.get(name) == f"Running, {workers} of {workers}")

    def wait_for(self, name: str, workers: int) -> None:
        """Submit a gang that does not fit, and wait until it says so."""
        self._submit(name, workers)
        self._until(lambda frame: frame.gangs.get(name, "").startswith("Waits: Needs"))

    def end(self, name: str) -> None:
        """Delete a gang, and wait until all others run."""
        self._recorder.done = f"{name} ends"
        self._say(self._recorder.done)
        self._plane.kubectl("delete", f"job/{name}", f"podgroup/{name}")
        self._until(lambda frame: all(said.startswith("Running") for said in frame.gangs.values()))

    def _submit(self, name: str, workers: int, *, urgent: bool = False) -> None:
        kind = "urgent " if urgent else ""
        self._recorder.done = f"{name}: {kind}job of {workers} workers, a node each"
        self._say(self._recorder.done)
        _apply(self._plane, *gang(name, workers, urgent=urgent))

    def _until(self, is_so: Callable[[Frame], bool]) -> None:
        self._recorder.until(is_so)
        time.sleep(PAUSE_SECONDS)


def _gang(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"])


def _apply(plane: controlplane.ControlPlane, *manifests: Mapping[str, Any]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    plane.kubectl("apply", "--filename=-", input=json.dumps(listed))
