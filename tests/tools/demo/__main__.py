"""Run the demo: python -m tools.demo run | up | down."""

import argparse
import shutil
import signal
import sys

from tools import controlplane
from tools.controlplane import background, binaries, builds, errors
from tools.demo import cluster, examples, story

INTERRUPTED = 130


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=COMMANDS)
    # As after Ctrl-C: what was started is stopped on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        COMMANDS[parser.parse_args().command]()
    except KeyboardInterrupt:
        builds.say_on_stderr("\ninterrupted: everything is stopped and removed")
        return INTERRUPTED
    except (errors.ControlPlaneError, examples.InvalidExample, TimeoutError) as error:
        builds.say_on_stderr(f"\nthe demo failed: {error}")
        return 1
    return 0


def _run() -> None:
    story.Story().tell()


def _up() -> None:
    running = background.up([], program="tools.demo")
    kubectl = shutil.which("kubectl")
    builds.say_on_stderr("\nIt runs until `make down`. To use it:\n")
    if kubectl is None:
        print(f"alias kubectl={binaries.find('kubectl')}")
    print(f"export KUBECONFIG={running.kubeconfig}")
    builds.say_on_stderr(
        "\nThen, for example:\n\n"
        "kubectl get nodes -L network.topology.nvidia.com/spine,network.topology.nvidia.com/block\n"
        "kubectl apply -f examples/01-gang\n"
        "kubectl get podgroups,pods -o wide"
    )


def _hold() -> None:
    background.hold(controlplane.Options(), _furnish)


def _furnish(plane: controlplane.ControlPlane) -> None:
    scheduler = cluster.furnish(plane)
    builds.say_on_stderr(f"the scheduler's log:     {scheduler.log}")
    builds.say_on_stderr(f"the scheduler's metrics: http://127.0.0.1:{scheduler.port}/metrics")


def _down() -> None:
    builds.say_on_stderr("stopped and removed" if background.down() else "nothing was running")


COMMANDS = {"run": _run, "up": _up, "hold": _hold, "down": _down}

if __name__ == "__main__":
    sys.exit(main())
