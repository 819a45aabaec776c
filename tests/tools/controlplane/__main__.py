"""Run the control plane by hand: python -m tools.controlplane build | up | status | down."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from functools import partial

from tools.controlplane import background, binaries, builds, errors
from tools.controlplane.options import Options
from tools.controlplane.plane import ControlPlane


def main() -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args()
    try:
        return int(COMMANDS[arguments.command](arguments))
    except errors.ControlPlaneError as error:
        print(error, file=sys.stderr)
        return 1


def _build(arguments: argparse.Namespace) -> int:
    if unknown := set(arguments.names) - set(binaries.NAMES):
        raise errors.ControlPlaneError(f"no such binary: {', '.join(sorted(unknown))}")
    for name in arguments.names or binaries.NAMES:
        print(name, binaries.find(name), flush=True)
    return 0


def _up(arguments: argparse.Namespace) -> int:
    running = background.up(_arguments(arguments))
    print(f"export KUBECONFIG={running.kubeconfig}")
    return 0


def _hold(arguments: argparse.Namespace) -> int:
    switches = {name: getattr(arguments, name) for name in SWITCHES}
    background.hold(_arguments(arguments), Options(**switches), partial(_with_nodes, arguments))
    return 0


@contextlib.contextmanager
def _with_nodes(arguments: argparse.Namespace, plane: ControlPlane) -> Iterator[None]:
    plane.nodes(arguments.nodes)
    yield


def _status(_: argparse.Namespace) -> int:
    running = background.status()
    if running is None:
        builds.say_on_stderr("not running")
        return 1
    builds.say_on_stderr(f"running at {running.url}, files in {running.directory}")
    print(f"export KUBECONFIG={running.kubeconfig}")
    return 0


def _down(_: argparse.Namespace) -> int:
    builds.say_on_stderr("stopped" if background.down() else "not running")
    return 0


def _arguments(arguments: argparse.Namespace) -> list[str]:
    """Return what was asked for, as arguments."""
    flags = [f"--{name.replace('_', '-')}" for name in SWITCHES if getattr(arguments, name)]
    return [*flags, f"--nodes={arguments.nodes}"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.controlplane")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="find or build all binaries, or those named")
    build.add_argument("names", nargs="*", metavar="NAME")
    for command, text in (("up", "start in the background"), ("hold", "run in the foreground")):
        start = commands.add_parser(command, help=text)
        start.add_argument("--nodes", type=int, default=0, help="fake nodes to create")
        for name, meaning in SWITCHES.items():
            start.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=meaning)
    commands.add_parser("status", help="say whether it runs; prints how to set KUBECONFIG")
    commands.add_parser("down", help="stop it and remove its files")
    return parser


SWITCHES = {
    "kube_scheduler": "also run the stock scheduler",
    "native_gangs": "switch on the stock gang scheduling",
    "audit": "write creations of pods and bindings to an audit log",
}
COMMANDS = {"build": _build, "up": _up, "hold": _hold, "status": _status, "down": _down}

if __name__ == "__main__":
    sys.exit(main())
