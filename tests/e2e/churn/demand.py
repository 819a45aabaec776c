"""Jobs that come and go, so that each queue asks for as much as chance says, and later for so much.

Every pod asks for one CPU. A Job's name begins with its queue and ends with its number of pods.
"""

import random
import threading
from collections import Counter
from collections.abc import Mapping

from e2e.support import gang_manifests
from e2e.support.namespaces import Namespace
from e2e.support.queues import QUEUE

QUEUES = ("red", "blue", "green", "black", "white")
PROMISED_CPU = 8
LEVELS = (0, 4, 8, 16, 24)
"""How many CPUs a queue asks for at a time."""
AT_REST = {"red": 24, "blue": 16, "green": 8, "black": 4, "white": 0}
SIZES = (2, 3, 4)
STEP_SECONDS = 0.15
NEW_LEVEL = 0.1
"""How often a step changes what a queue asks for."""


class Demand:
    """Creates and deletes Jobs until told to stop. `jobs` are those that exist, `every` all."""

    def __init__(self, namespace: Namespace, dice: random.Random) -> None:
        self.jobs: dict[str, list[str]] = {each: [] for each in QUEUES}
        self.every: dict[str, int] = {}
        self._namespace = namespace
        self._dice = dice
        self._levels = dict.fromkeys(QUEUES, PROMISED_CPU)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Create and delete nothing more but what the queues ask for at rest."""
        self._stopping.set()
        self._thread.join()
        for queue, level in AT_REST.items():
            while self._step(queue, level):
                pass

    @property
    def asked(self) -> Mapping[str, int]:
        """How many CPUs each queue asks for."""
        return {queue: sum(map(self.every.__getitem__, jobs)) for queue, jobs in self.jobs.items()}

    def _run(self) -> None:
        while not self._stopping.wait(STEP_SECONDS):
            queue = self._dice.choice(QUEUES)
            if self._dice.random() < NEW_LEVEL:
                self._levels[queue] = self._dice.choice(LEVELS)
            self._step(queue, self._levels[queue])

    def _step(self, queue: str, level: int) -> bool:
        """Create or delete one Job of a queue; return whether there was need to."""
        jobs = self.jobs[queue]
        lacking = level - self.asked[queue]
        if lacking < 0:
            gone = self._dice.choice(jobs)
            jobs.remove(gone)
            self._namespace.delete("jobs", gone)
        elif lacking >= SIZES[0]:
            size = self._dice.choice([each for each in SIZES if each <= lacking])
            name = f"{queue}-{len(self.every)}-{size}"
            labels = {**gang_manifests.JOB_LABEL, QUEUE: queue}
            self.every[name] = size
            jobs.append(name)
            self._namespace.create(gang_manifests.evictable_job(name, size, labels))
        return lacking < 0 or lacking >= SIZES[0]


def by_queue(gangs: Mapping[str, int]) -> Counter[str]:
    """Return the numbers of pods by queue, of those by gang."""
    found: Counter[str] = Counter()
    for gang, number in gangs.items():
        found[gang.partition("-")[0]] += number
    return found
