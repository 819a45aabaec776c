"""The demo's cluster: nodes as a file of examples/clusters says, our CRDs, the operator."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools import controlplane
from tools.controlplane import builds, errors, nodes
from tools.demo import examples

CHECKOUT = Path(__file__).resolve().parents[3]
SPINE = "network.topology.nvidia.com/spine"
BLOCK = "network.topology.nvidia.com/block"
GPU = "nvidia.com/gpu"
OPTIONS = controlplane.Options()


@contextlib.contextmanager
def running(
    say: builds.Say = builds.say_on_stderr,
    options: controlplane.Options = OPTIONS,
    nodes_file: Path = examples.GPU_NODES,
) -> Iterator[tuple[controlplane.ControlPlane, controlplane.Scheduler]]:
    """Start everything, and end it with the block. Seconds, once the binaries are built."""
    with controlplane.start(options, say) as plane:
        scheduler = furnish(plane, say, nodes_file)
        try:
            yield plane, scheduler
        except TimeoutError:
            say(f"the end of the scheduler's log:\n{errors.tail(scheduler.log)}")
            raise


def furnish(
    plane: controlplane.ControlPlane,
    say: builds.Say = builds.say_on_stderr,
    nodes_file: Path = examples.GPU_NODES,
) -> controlplane.Scheduler:
    """Put nodes, CRDs and the operator into a control plane; the operator ends with it."""
    made = [_node(each) for each in yaml.safe_load_all(nodes_file.read_text())]
    say(f"creating the {len(made)} nodes of {nodes_file.relative_to(CHECKOUT)}")
    nodes.create(plane.access, made)
    say("installing the CRDs of crds/")
    crds = str(CHECKOUT / "crds")
    plane.kubectl("apply", "-f", crds)
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
    say("starting the scheduler")
    scheduler = controlplane.Scheduler(plane, "--log-format=console")
    scheduler.start()
    return scheduler


def _node(document: dict[str, Any]) -> dict[str, Any]:
    """Return a node that KWOK looks after, like one in a manifest."""
    metadata, status = document["metadata"], document["status"]
    return nodes.manifest(metadata["name"], metadata["labels"], status["allocatable"])
