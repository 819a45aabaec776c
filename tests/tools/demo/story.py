"""What the demo does and shows. Colours where there is a terminal, plain lines where there is none.

Called by `python -m tools.demo run`.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console

from tools.controlplane import ControlPlane
from tools.demo import cluster, differences, examples, placements
from tools.demo.examples import Example, Outcome

NAMESPACE = "default"
WIDTH_WITHOUT_TERMINAL = 120
TOLD = (
    "01-gang",
    "02-elastic-gang",
    "03-single-pod",
    "04-gang-that-waits",
    "05-gang-group",
    "06-annotation-gang",
    "07-job",
    "10-group-across-namespaces",
    "15-trainers-and-rollouts",
)
"""The examples that have room beside each other."""
QUEUES = "apis/py-gang-scheduler.io/v1alpha1/queues"
WAIT_SECONDS = 60.0


def _until(done: Callable[[], bool], otherwise: str) -> None:
    """Wait until something is so; TimeoutError with what is so otherwise."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {WAIT_SECONDS:.0f} s: {otherwise}")
        time.sleep(differences.POLL_SECONDS)


def _borrows(queue: Mapping[str, Any]) -> bool:
    return str(queue.get("status", {}).get("summary", {}).get("borrowed", "0")) != "0"


class Story:
    """The demo, told on one console. `tell` is the whole of it."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=WIDTH_WITHOUT_TERMINAL)
        self._started_at = time.monotonic()

    def tell(self) -> None:
        """Run all examples on a cluster that lives as long as this call."""
        # 1. A cluster.
        self._heading("A control plane of its own: etcd, API server, controllers, KWOK's kubelets")
        with cluster.running(self._say) as (plane, _):
            told = [examples.load(examples.EXAMPLES / name) for name in TOLD]
            # 2. The examples, one after the other; they stay.
            for example in told:
                self._apply(plane, example)
            # 3. How it stands.
            self._show(plane, "What became of them")
            for example in told:
                self._explain(plane, example.outcome)
            # 4. Room is made.
            for example in told:
                self._delete(plane, example)
            # 5. Two teams share other nodes.
            self._clear(plane, told)
            self._share(plane, examples.load(examples.TWO_TEAMS))
            self._heading("The end: everything is stopped and removed")
        self._say("done; `make up` starts the same cluster for you to try, `make down` ends it")

    def _apply(self, plane: ControlPlane, example: Example) -> None:
        self._heading(f"{example.title} (examples/{example.directory.name})")
        self._kubectl(plane, "apply", "-f", str(example.directory))
        self._wait(plane, example, example.outcome)

    def _explain(self, plane: ControlPlane, outcome: Outcome) -> None:
        for gang in outcome.waiting:
            self._heading(f"Why {gang} waits")
            self._kubectl(plane, "events", "--for", f"podgroup/{gang}")

    def _delete(self, plane: ControlPlane, example: Example) -> None:
        if example.then is None:
            return
        self._heading(f"Room is made: {example.then.manifest.name} of {example.directory.name}")
        self._kubectl(plane, "delete", "-f", str(example.then.manifest))
        self._wait(plane, example, example.then.outcome)
        self._show(plane, "Who runs now")

    def _clear(self, plane: ControlPlane, told: Sequence[Example]) -> None:
        """Delete all examples, and wait until their pods are gone."""
        self._heading("Two teams that share a cluster: first all of this goes")
        for example in reversed(told):
            plane.kubectl("delete", "--ignore-not-found", "-f", str(example.directory))
        _until(lambda: not placements.items(plane, "api/v1/pods"), "pods are left")

    def _share(self, plane: ControlPlane, example: Example) -> None:
        """Let two teams use one cluster, and show which borrows what the other leaves."""
        cluster.change_nodes(plane, self._say, example.nodes_file)
        self._apply(plane, example)
        self._heading("Who was promised what, and who borrows")
        _until(lambda: any(map(_borrows, placements.items(plane, QUEUES))), "no queue borrows")
        self._kubectl(plane, "get", "queues.py-gang-scheduler.io")
        self._heading("The same as simulate shows it: the two are below one root")
        self._simulate(plane)

    def _simulate(self, plane: ControlPlane) -> None:
        """Show what `simulate` makes of the cluster as it is."""
        kinds = "nodes,pods,podgroups.scheduling.sigs.k8s.io,queues.py-gang-scheduler.io"
        arguments = ("get", kinds, "--output=yaml")
        shown = f"$ kubectl {' '.join(arguments)} | py-gang-scheduler simulate -f -"
        self._console.print(shown, style="bold", markup=False)
        simulated = subprocess.run(
            [sys.executable, "-m", "gang_scheduler", "simulate", "-f", "-"],
            input=plane.kubectl(*arguments),
            capture_output=True,
            text=True,
            check=True,
        )
        self._console.out(simulated.stdout.rstrip(), highlight=False)

    def _show(self, plane: ControlPlane, heading: str) -> None:
        self._heading(heading)
        self._kubectl(plane, "get", "podgroups", "--all-namespaces")
        self._console.print()
        self._console.print(placements.table(plane))

    def _wait(self, plane: ControlPlane, example: Example, outcome: Outcome) -> None:
        started = time.monotonic()
        with self._console.status("waiting for the scheduler"):
            differences.wait(plane, example.prefixes(NAMESPACE), outcome)
        seconds = time.monotonic() - started
        told = [f"{count} of {gang} have a node" for gang, count in outcome.bound.items() if count]
        told += [f"{gang} waits: {why.reason}" for gang, why in outcome.waiting.items()]
        self._console.print(f"{', '.join(told)} (seen after {seconds:.1f} s)", style="green")

    def _kubectl(self, plane: ControlPlane, *arguments: str) -> None:
        shown = " ".join(arguments).replace(f"{cluster.CHECKOUT}/", "")
        self._console.print(f"$ kubectl {shown}", style="bold", markup=False)
        # As kubectl wrote it: a terminal wraps it, a file keeps it.
        self._console.out(plane.kubectl(*arguments).rstrip(), highlight=False)

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.rule(f"[bold]{text}", align="left", characters="-")

    def _say(self, line: str) -> None:
        self._console.print(f"[{self._elapsed():4.1f} s] {line}", style="dim", markup=False)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started_at
