"""The schedulers that are measured. Each is a process of its own on its own control plane."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.bench import gangs
from tools.bench.gangs import Dialect
from tools.bench.shape import Shape
from tools.controlplane import ControlPlane, Scheduler

OURS = "py-gang-scheduler"
Starter = Callable[[ControlPlane, Shape], str]
"""Start a contestant as a component; return the component's name."""


@dataclass(frozen=True)
class Contestant:
    """A scheduler, and how its users write gangs. `live`: it can run before there are pods."""

    start: Starter
    dialect: Dialect = gangs.alone
    scheduler: str = "default-scheduler"
    native_gangs: bool = False
    live: bool = True


def _ours(*flags: str) -> Starter:
    def start(plane: ControlPlane, _shape: Shape) -> str:
        scheduler = Scheduler(plane, *flags)
        scheduler.start()
        return scheduler.name

    return start


def _kube_scheduler(plane: ControlPlane, _shape: Shape) -> str:
    plane.start_component("kube-scheduler")
    return "kube-scheduler"


def _ceiling(plane: ControlPlane, shape: Shape) -> str:
    """Start the client that only binds."""
    name = "ceiling"
    here = str(Path(__file__).parents[2])
    numbers = [str(each) for each in (shape.gangs, shape.size, shape.nodes)]
    program = f"import sys; sys.path.insert(0, {here!r}); import runpy; sys.argv[0] = 'ceiling'; "
    program += "runpy.run_module('tools.bench.ceiling', run_name='__main__')"
    access = [plane.url, str(plane.ca_file), str(plane.token)]
    plane.processes.start(name, [sys.executable, "-c", program, *access, *numbers])
    return name


CONTESTANTS: dict[str, Contestant] = {
    "ceiling": Contestant(_ceiling, live=False),
    "py-gang-scheduler": Contestant(_ours("--source=kopf"), gangs.pod_groups, OURS),
    "py-gang-scheduler, reflector": Contestant(_ours("--source=reflector"), gangs.pod_groups, OURS),
    "kube-scheduler, no gangs": Contestant(_kube_scheduler),
    "kube-scheduler, native gangs": Contestant(_kube_scheduler, gangs.native, native_gangs=True),
}


def in_words_of(contestant: Contestant, shape: Shape) -> Dialect:
    """Return how gangs are written: with a rack, as gangs of Kubernetes itself, for all."""
    if shape.rule == "rack" and contestant.dialect is gangs.pod_groups:
        return gangs.native
    return contestant.dialect
