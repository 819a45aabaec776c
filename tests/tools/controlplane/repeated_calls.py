"""What is done to a cluster again and again, beside all else."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tools.controlplane import access
from tools.controlplane.cluster import Cluster

PAUSE_SECONDS = 0.1


@contextlib.contextmanager
def repeating(
    cluster: Cluster,
    errand: Callable[[access.Client], object],
    pause_seconds: float = PAUSE_SECONDS,
) -> Iterator[None]:
    """Run an errand over and over until the block ends, and raise there what it raised."""
    stopping = threading.Event()

    def run() -> None:
        with access.Client(cluster.access) as client:
            while not stopping.wait(pause_seconds):
                errand(client)

    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(run)
        try:
            yield
        finally:
            stopping.set()
            running.result()
