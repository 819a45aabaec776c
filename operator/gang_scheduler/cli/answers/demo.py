"""`demo`: a scripted story on the embedded API server; the real operator is another process."""

import contextlib
import signal
import threading
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
                screen.address("the page", page.address)
            else:
                screen.say(f"There is no page: {page.problem}")
            story.tell()
            if stay:
                story.clear_gangs()
                _stay(screen, where)
    screen.say(f"\ndone in {screen.seconds:.0f} s; everything is stopped and removed")
    if not stay:
        screen.say("To try it yourself: py-gang-scheduler demo --stay")


def _stay(screen: Screen, where: cluster.Embedded) -> None:
    """Keep everything running, and print how to try things."""
    screen.say(
        "\nAll gangs are gone, and the nodes are free. In another terminal, until ctrl-C here:\n"
    )
    screen.say(f"export KUBECONFIG={where.kubeconfig}")
    screen.say("kubectl apply -f examples/01-gang")
    screen.say("py-gang-scheduler list -A")
    threading.Event().wait()
