"""Gangs that come and go: whole ones, and single members that are replaced."""

import http.client
import random
import threading
import time
from collections.abc import Iterator

from e2e.support import manifests
from e2e.support.namespaces import Namespace
from tools import controlplane
from tools.controlplane import access

SIZES = (2, 3, 4, 5, 6)
CPUS = (1, 2, 4, 8)
TROUBLES = (OSError, http.client.HTTPException, access.RefusedError, controlplane.ControlPlaneError)


class Work:
    """Creates and deletes gangs until told to stop. `sizes` are all that there were, by name."""

    def __init__(self, namespace: Namespace, dice: random.Random, most_cpu: int) -> None:
        self.sizes: dict[str, int] = {}
        self.living: dict[str, list[str]] = {}
        self._namespace = namespace
        self._dice = dice
        self._most_cpu = most_cpu
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._numbers: Iterator[int] = iter(range(1 << 30))

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Create and delete nothing more."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._step()
            except TROUBLES:
                time.sleep(0.2)

    def _step(self) -> None:
        used = sum(self._cpu(pods) for pods in self.living.values())
        if used < self._most_cpu:
            self._create()
        elif self._dice.random() < 0.8:
            self._delete(self._dice.choice(sorted(self.living)))
        else:
            self._replace(self._dice.choice(sorted(self.living)))
        time.sleep(self._dice.uniform(0, 0.1))

    def _cpu(self, pods: list[str]) -> int:
        return sum(int(name.rpartition("-c")[2]) for name in pods)

    def _create(self) -> None:
        name, size = f"g{next(self._numbers)}", self._dice.choice(SIZES)
        cpu = self._dice.choice(CPUS)
        self.sizes[name] = size
        pods = [f"{name}-{number}-c{cpu}" for number in range(size)]
        self.living[name] = pods
        self._insist(manifests.pod_group(name, size))
        for pod in pods:
            self._insist(self._pod(pod))

    def _pod(self, name: str) -> manifests.Manifest:
        cpu = int(name.rpartition("-c")[2])
        return manifests.pod(name, gang_name=name.partition("-")[0], cpu=cpu)

    def _replace(self, name: str) -> None:
        pod = self._dice.choice(self.living[name])
        self._gone("pods", pod)
        self._insist(self._pod(pod))

    def _delete(self, name: str) -> None:
        for pod in self.living.pop(name):
            self._gone("pods", pod)
        self._gone("podgroups", name)

    def _insist(self, document: manifests.Manifest) -> None:
        while True:
            try:
                return self._namespace.create(document)
            except access.RefusedError as error:
                if error.status == 409:
                    return None  # It was created by a request whose answer was lost.
            except TROUBLES:
                pass
            time.sleep(0.2)

    def _gone(self, plural: str, name: str) -> None:
        path = f"{self._namespace.path(plural)}/{name}"
        while True:
            try:
                self._namespace.cluster.request("DELETE", path)
            except access.RefusedError as error:
                if error.status == 404:
                    return
            except TROUBLES:
                pass
            time.sleep(0.05)
