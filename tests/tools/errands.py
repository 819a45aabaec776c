"""A thread that does one thing again and again, beside all else."""

import abc
import threading
from typing import Self


class Errand(abc.ABC):
    """Calls `once` with a pause before each call, until the `with` block ends."""

    def __init__(self, name: str, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    @abc.abstractmethod
    def once(self) -> None:
        """Do it. What it raises ends the thread."""

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_seconds):
            self.once()
