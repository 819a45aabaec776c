"""Run the demo: python -m tools.demo run | up | down.

run --cluster existing
up --nodes racks --with jobset
"""

import argparse
import contextlib
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gang_scheduler.demo import cluster as demo_cluster
from gang_scheduler.demo.cluster import DemoFailed
from tools import controlplane
from tools.controlplane import background, binaries, builds, errors
from tools.demo import cluster, examples, stages

INTERRUPTED = 130


def main() -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args()
    # As after Ctrl-C: what was started is stopped on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        COMMANDS[arguments.command](arguments)
    except KeyboardInterrupt:
        builds.say_on_stderr("\ninterrupted: everything is stopped and removed")
        return INTERRUPTED
    except (errors.ControlPlaneError, examples.InvalidExample, DemoFailed, TimeoutError) as error:
        builds.say_on_stderr(f"\nthe demo failed: {error}")
        return 1
    return 0


def _run(asked: argparse.Namespace) -> None:
    stages.tell(asked.cluster)


def _up(asked: argparse.Namespace) -> None:
    nodes_file, needs = _chosen(asked)
    arguments = _arguments(nodes_file, needs)
    running = background.up(arguments, program="tools.demo")
    if running.arguments != arguments:
        told = " ".join(running.arguments)
        sys.exit(f"a cluster with other nodes or options is running ({told}): `make down` first")
    kubectl = shutil.which("kubectl")
    builds.say_on_stderr("\nIt runs until `make down`. To use it:\n")
    if kubectl is None:
        print(f"alias kubectl={binaries.find('kubectl')}")
    print(f"export KUBECONFIG={running.kubeconfig}")
    builds.say_on_stderr(_what_to_try(nodes_file, needs))


def _what_to_try(nodes_file: Path, needs: examples.Needs) -> str:
    fitting = [each.directory.name for each in examples.fitting(nodes_file, needs)]
    labels = ",".join(cluster.label_keys(nodes_file))
    gangs = "gangs" if examples.NATIVE_GANGS in needs else "podgroups"
    tried = [f"kubectl get nodes -L {labels}" if labels else "kubectl get nodes"]
    if fitting:
        tried += [f"kubectl apply -f examples/{fitting[0]}", f"kubectl get {gangs},pods -o wide"]
        tried += ['PATH="$PWD/.venv/bin:$PATH" kubectl gang list']
    shown = f"\nThe examples for it: {', '.join(fitting)}." if fitting else ""
    return "\n".join(["\nThen, for example:\n", *tried, shown])


def _hold(arguments: argparse.Namespace) -> None:
    nodes_file, needs = _chosen(arguments)
    furnished = partial(_furnished, nodes_file=nodes_file, needs=needs)
    background.hold(_arguments(nodes_file, needs), cluster.options(needs), furnished)


@contextlib.contextmanager
def _furnished(
    plane: controlplane.ControlPlane, nodes_file: Path, needs: examples.Needs
) -> Iterator[None]:
    with cluster.furnished(plane, builds.say_on_stderr, nodes_file, needs) as scheduler:
        builds.say_on_stderr(f"the scheduler's log:     {scheduler.log}")
        builds.say_on_stderr(f"the scheduler's metrics: http://127.0.0.1:{scheduler.port}/metrics")
        with demo_cluster.page(plane.kubeconfig) as page:
            builds.say_on_stderr(about_page(page))
            yield


def about_page(page: demo_cluster.Page) -> str:
    """Return where the page is, or why there is none."""
    if page.address:
        return f"the page, one browser:   {page.address}"
    return f"There is no page: {page.problem}"


def _down(_: argparse.Namespace) -> None:
    builds.say_on_stderr("stopped and removed" if background.down() else "nothing was running")


def _chosen(arguments: argparse.Namespace) -> tuple[Path, examples.Needs]:
    try:
        return examples.nodes_file(arguments.nodes), tuple(sorted(set(arguments.needs)))
    except ValueError as error:
        raise errors.ControlPlaneError(str(error)) from error


def _arguments(nodes_file: Path, needs: examples.Needs) -> list[str]:
    """Return what was chosen, as arguments of the holder."""
    return ["--nodes", str(nodes_file), *(word for need in needs for word in ("--with", need))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.demo", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=COMMANDS)
    parser.add_argument(
        "--cluster",
        default="real",
        choices=stages.STAGES,
        help="of run: where the story is told",
    )
    parser.add_argument(
        "--nodes", default=examples.GPU_NODES.stem, help="of up: a file, or a name in clusters/"
    )
    parser.add_argument(
        "--with",
        dest="needs",
        action="append",
        default=[],
        choices=sorted(examples.NEEDS),
        help="of up: what the cluster has besides",
    )
    return parser


COMMANDS = {"run": _run, "up": _up, "hold": _hold, "down": _down}

if __name__ == "__main__":
    sys.exit(main())
