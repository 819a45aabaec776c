"""kube-scheduler as the oracle: what it says of pods and nodes, and nothing that it does."""

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from differential.extender import OVERHEARD, Extender
from differential.worlds import Manifest
from tools import controlplane
from tools.controlplane import binaries, errors

NAME: Final = "kube-scheduler"
NEVER_AGAIN: Final = 3600
"""A pod is judged once: another verdict needs another pod."""
GATES: Final = "TaintTolerationComparisonOperators=true"
"""What is off by default, and ours to honour where it is on."""
ONCE: Final = "SchedulerPopFromBackoffQ=false"
"""Nor is a pod judged again while there is nothing else to do."""
OPTIONS: Final = controlplane.Options(
    kwok=False,
    controller_manager=False,
    api_priority_and_fairness=False,
    extra_args={
        "kube-apiserver": (
            f"--feature-gates={GATES}",
            # No controller removes the finalizers that it puts on claims and volumes.
            "--disable-admission-plugins=StorageObjectInUseProtection",
        )
    },
)
"""The control plane beside which it runs: only the test changes objects."""

# DynamicResources ends it with two words of its own, where another plugin refused the whole pod.
_MESSAGE: Final = re.compile(
    r"0/(?P<nodes>\d+) nodes are available: (?P<reasons>.*)\.(?: not found)?", re.DOTALL
)
_REASON: Final = re.compile(r"(?P<number>\d+) (?P<words>.*)", re.DOTALL)


@dataclass(frozen=True)
class Verdict:
    """The nodes that passed, and why the others did not: a count a reason.

    `wholly` is what kept the pod from every node, before any was looked at.
    """

    passed: frozenset[str] = frozenset()
    reasons: Counter[str] = field(default_factory=Counter)
    wholly: str = ""


class Oracle:
    """Reads verdicts from pods that kube-scheduler has judged."""

    def __init__(self, extender: Extender) -> None:
        self._extender = extender

    def verdict(self, pod: Manifest) -> Verdict | None:
        """Return what was said of a pod; None while nothing was."""
        condition = _condition(pod)
        if condition.get("reason") not in ("Unschedulable", "SchedulerError"):
            return None
        passed = self._extender.passed.get(pod["metadata"]["uid"], frozenset())
        reasons, wholly = read(condition["message"])
        del reasons[OVERHEARD]
        return Verdict(passed, reasons, wholly)


@contextlib.contextmanager
def running(plane: controlplane.ControlPlane) -> Iterator[Oracle]:
    """Start kube-scheduler beside a control plane."""
    with Extender() as extender:
        path = plane.directory / "kube-scheduler.yaml"
        path.write_text(json.dumps(_configuration(str(plane.kubeconfig), extender.url)))
        program = str(binaries.find(NAME))
        gates = f"--feature-gates={GATES},{ONCE}"
        plane.processes.start(NAME, [program, f"--config={path}", "--secure-port=0", gates])
        yield Oracle(extender)
        plane.processes.check()
        plane.processes.stop(NAME, 0.0)


def read(message: str) -> tuple[Counter[str], str]:
    """Return the reasons in a message with their numbers, or what kept the pod from all nodes."""
    found = _MESSAGE.fullmatch(message)
    if found is None:
        return Counter(), message
    parts = [_REASON.fullmatch(each) for each in re.split(r", (?=\d+ )", found["reasons"])]
    if not all(parts):
        return Counter(), found["reasons"]
    return Counter({each["words"]: int(each["number"]) for each in parts if each}), ""


def wait_for(
    names: Iterable[str],
    judged: Callable[[], dict[str, Verdict]],
    plane: controlplane.ControlPlane,
    seconds: float = 30.0,
) -> dict[str, Verdict]:
    """Return the verdicts on pods by name, once all are judged."""
    wanted, deadline = set(names), time.monotonic() + seconds
    while not wanted <= (found := judged()).keys():
        plane.processes.check()
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(wanted - found.keys()))
            raise errors.ControlPlaneError(f"kube-scheduler has not judged {missing}")
        time.sleep(0.02)
    return found


def _condition(pod: Manifest) -> Manifest:
    conditions = pod.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def _configuration(kubeconfig: str, url: str) -> Manifest:
    extender = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "ignorable": False,
        "weight": 1,
        "httpTimeout": "30s",
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 5000, "burst": 5000},
        "percentageOfNodesToScore": 100,
        "podInitialBackoffSeconds": NEVER_AGAIN,
        "podMaxBackoffSeconds": NEVER_AGAIN,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}},
            }
        ],
        "extenders": [extender],
    }
