"""Where the story of the demo is told, other than on the embedded API server."""

import contextlib
import os
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import yaml

from gang_scheduler.demo import cluster as embedded
from gang_scheduler.demo import world
from gang_scheduler.demo.cluster import DemoFailed
from gang_scheduler.demo.screen import Screen
from gang_scheduler.demo.story import Story
from tools import controlplane
from tools.controlplane import backends, builds

Stage = Callable[[Screen], contextlib.AbstractContextManager[controlplane.Cluster]]


def tell(where: str) -> None:
    """Tell the story on a cluster, and remove all of it in the end."""
    screen = Screen()
    with STAGES[where](screen) as plane, contextlib.ExitStack() as running:
        _require_alone(plane)
        story = Story(plane, screen)
        running.callback(story.clear)
        story.prepare(guarded=True)
        with screen.waiting("starting the scheduler"):
            running.enter_context(embedded.operator(plane.kubeconfig))
        screen.done(f"{world.NODE_COUNT} nodes of {world.GPUS} GPUs; the scheduler is ready")
        story.tell()
    screen.say(f"\ndone in {screen.seconds:.0f} s; everything is stopped and removed")


@contextlib.contextmanager
def _real(screen: Screen) -> Iterator[controlplane.Cluster]:
    screen.say(
        "A real control plane on this machine: etcd, kube-apiserver, its controllers, and\n"
        "KWOK in place of kubelets. No container runs.",
        "bold",
    )
    with (
        screen.waiting("starting the control plane"),
        controlplane.start(say=builds.say_on_stderr) as plane,
    ):
        yield plane


@contextlib.contextmanager
def _existing(screen: Screen) -> Iterator[controlplane.Cluster]:
    kubeconfig = Path(os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()
    if not kubeconfig.is_file():
        raise DemoFailed(f"there is no kubeconfig {kubeconfig}")
    context = yaml.safe_load(kubeconfig.read_text()).get("current-context")
    found = backends.existing(kubeconfig, controlplane.Options(), builds.say_on_stderr)
    with found:
        screen.say(
            f"The cluster of the context {context}, {found.url}.\n"
            f"The demo adds {world.NODE_COUNT} nodes that KWOK plays, the namespace "
            f"{world.NAMESPACE},\nand the CRDs that are not there; it removes them in the end.",
            "bold",
        )
        yield found


@contextlib.contextmanager
def _kind(screen: Screen) -> Iterator[controlplane.Cluster]:
    screen.say(
        "A cluster of kind of its own, with nodes that KWOK plays beside its own node.", "bold"
    )
    with backends.kind(controlplane.Options(), builds.say_on_stderr) as made:
        yield made


def _require_alone(plane: controlplane.Cluster) -> None:
    """Refuse a cluster in which the operator runs already: two would bind the same pods."""
    label = urllib.parse.quote("app.kubernetes.io/name=py-gang-scheduler")
    pods = plane.request("GET", f"/api/v1/pods?labelSelector={label}")["items"]
    if pods:
        where = pods[0]["metadata"]["namespace"]
        raise DemoFailed(f"py-gang-scheduler runs there already, in the namespace {where}")


STAGES: Final[dict[str, Stage]] = {"real": _real, "existing": _existing, "kind": _kind}
