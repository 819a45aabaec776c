"""`demo`: a scripted story on the embedded API server; the real operator is another process."""

import contextlib
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.screen import Screen
from gang_scheduler.demo.story import Story

FIRST_LINES: Final = (
    "The scheduler is the real one, in a process of its own. The Kubernetes API",
    "server is a stand-in in Python with the objects in memory; no pod runs.",
)


def answer(*, stay: bool, port: int) -> None:
    """Run the story. With --stay, keep everything running until the user interrupts it."""
    # Stop the processes on the way out, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    screen = Screen()
    for line in FIRST_LINES:
        screen.say(line, "bold")
    with cluster.embedded(port) as where:
        story = Story(where, screen)
        story.prepare(guarded=False)
        with contextlib.ExitStack() as running:
            with screen.waiting("starting the scheduler"):
                running.enter_context(cluster.operator(where.kubeconfig))
            screen.done(f"{world.NODE_COUNT} nodes of {world.GPUS} GPUs; the scheduler is ready")
            page = running.enter_context(cluster.page(where.kubeconfig))
            if page.address:
                screen.address("in your browser", page.address)
            else:
                screen.say(f"There is no page: {page.problem}")
            story.tell()
            if stay:
                story.clear_gangs()
                _stay(screen, where)
    screen.say(f"\ndone in {screen.seconds:.0f} s; everything is stopped and removed")
    if not stay:
        screen.say(f"To try it yourself: {_command()} demo --stay")


def _command() -> str:
    """Return what a user types for this program: its name, or its path if PATH does not have it."""
    name = "py-gang-scheduler"
    called = Path(sys.argv[0])
    return str(called) if called.name == name and not shutil.which(name) else name


def _stay(screen: Screen, where: cluster.Embedded) -> None:
    """Keep everything running, and print how to try things."""
    screen.say(
        "\nAll gangs are gone, and the nodes are free. Until ctrl-C here, try in another\n"
        "terminal:\n"
    )
    screen.say(f"export KUBECONFIG={where.kubeconfig}")
    screen.say("kubectl apply -f examples/01-gang")
    screen.say(f"{_command()} list -A")
    threading.Event().wait()
