"""The demo's cluster: twelve GPU nodes in three spines of two blocks, our CRDs, the operator."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import controlplane
from controlplane import builds, errors, nodes

CHECKOUT = Path(__file__).resolve().parents[2]
NODES = 12
SPINE = "network.topology.nvidia.com/spine"
BLOCK = "network.topology.nvidia.com/block"
LAYERS = {SPINE: 4, BLOCK: 2}
GPU = "nvidia.com/gpu"
ALLOCATABLE = {"cpu": "96", "memory": "768Gi", "pods": "110", GPU: "8"}
OPTIONS = controlplane.Options()


@contextlib.contextmanager
def running(
    say: builds.Say = builds.say_on_stderr,
    options: controlplane.Options = OPTIONS,
) -> Iterator[tuple[controlplane.ControlPlane, controlplane.Scheduler]]:
    """Start everything, and end it with the block. Seconds, once the binaries are built."""
    with controlplane.start(options, say) as plane:
        scheduler = furnish(plane, say)
        try:
            yield plane, scheduler
        except TimeoutError:
            say(f"the end of the scheduler's log:\n{errors.tail(scheduler.log)}")
            raise


def furnish(
    plane: controlplane.ControlPlane, say: builds.Say = builds.say_on_stderr
) -> controlplane.Scheduler:
    """Put nodes, CRDs and the operator into a control plane; the operator ends with it."""
    say(f"creating {NODES} nodes in 3 spines of 2 blocks, with 8 GPUs each")
    plane.nodes(NODES, labels=nodes.layers(LAYERS), allocatable=ALLOCATABLE)
    say("installing the CRDs of crds/")
    crds = str(CHECKOUT / "crds")
    plane.kubectl("apply", "-f", crds)
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
    say("starting the scheduler")
    scheduler = controlplane.Scheduler(plane, "--log-format=console")
    scheduler.start()
    return scheduler
