"""What befalls the replicas and the servers: one thing after the other, some at the same time."""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence

from e2e.storm.invariants import RecordingProxy
from e2e.support.fault_proxy import LOSE_ANSWER, LOSE_REQUEST, PASS, Fault
from tools import controlplane

ERRORS = (409, 410, 429, 500, 503, 504)
BEYOND_THE_LEASE = (11.0, 18.0)
Say = Callable[[str], None]


class FaultInjector:
    """Makes trouble, by the dice."""

    def __init__(
        self,
        plane: controlplane.ControlPlane,
        replicas: list[controlplane.Scheduler],
        proxies: list[RecordingProxy],
        *,
        dice: random.Random,
        say: Say,
        only: Sequence[str] = (),
    ) -> None:
        self._plane = plane
        self._replicas = replicas
        self._proxies = proxies
        self._dice = dice
        self._say = say
        self._turn = threading.Lock()
        self._is_over = False
        troubles = {
            "kill": self._kill,
            "freeze": self._freeze,
            "restart-server": self._restart_server,
            "freeze-server": self._freeze_server,
            "cut": self._cut,
            "stall": self._stall,
            "errors": self._errors,
            "stall-and-kill": self._stalled_and_killed,
        }
        self._troubles = [troubles[name] for name in only or troubles]

    def rage(self, seconds: float) -> None:
        """Make trouble for so long, and leave all as it should be."""
        kubelet = threading.Thread(target=self._revive, daemon=True)
        kubelet.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            trouble = self._dice.choice(self._troubles)
            trouble()
            time.sleep(self._dice.uniform(0.5, 6))
        for proxy in self._proxies:
            proxy.start_over()
            proxy.flows.set()

    def end(self) -> None:
        """Start no replica any more."""
        with self._turn:
            self._is_over = True

    def _revive(self) -> None:
        """Start the replicas again that have ended, as the kubelet does."""
        while not self._is_over:
            time.sleep(1)
            with self._turn:
                if self._is_over:
                    return
                for each in self._replicas:
                    if self._has_ended(each):
                        self._say(f"start {each.name}")
                        each.cluster.processes.start(each.name, each.command)

    def _has_ended(self, replica: controlplane.Scheduler) -> bool:
        processes = replica.cluster.processes
        if replica.name not in processes.running():
            return True
        try:
            processes.check()
        except controlplane.ComponentDied as death:
            if death.name == replica.name:
                replica.kill()
                return True
        return False

    def _kill(self) -> None:
        self._kill_one(self._dice.choice(self._replicas))

    def _kill_one(self, victim: controlplane.Scheduler) -> None:
        with self._turn, contextlib.suppress(controlplane.ControlPlaneError):
            self._say(f"kill -9 {victim.name}")
            victim.kill()

    def _freeze(self) -> None:
        victim = self._dice.choice(self._replicas)
        seconds = self._dice.uniform(*BEYOND_THE_LEASE)
        self._say(f"stop {victim.name} for {seconds:.0f} s")
        self._stopped_for(victim.cluster, victim.name, seconds)

    def _restart_server(self) -> None:
        component = self._dice.choice(("kube-apiserver", "etcd"))
        self._say(f"kill -9 {component}")
        self._plane.stop_component(component)
        time.sleep(self._dice.uniform(0, 5))
        self._plane.start_component(component)

    def _freeze_server(self) -> None:
        component = self._dice.choice(("kube-apiserver", "etcd"))
        seconds = self._dice.uniform(2, 12)
        self._say(f"stop {component} for {seconds:.0f} s")
        self._stopped_for(self._plane, component, seconds)

    def _cut(self) -> None:
        proxy = self._dice.choice(self._proxies)
        self._say("cut connections")
        proxy.cut()

    def _stall(self) -> None:
        proxy = self._dice.choice(self._proxies)
        seconds = self._dice.uniform(3, 25)
        self._say(f"stall watches for {seconds:.0f} s")
        proxy.flows.clear()
        time.sleep(seconds)
        proxy.flows.set()

    def _stalled_and_killed(self) -> None:
        """Let one replica take over whose watches have stalled."""
        number = self._dice.randrange(len(self._replicas))
        self._say(f"stall watches of {self._replicas[number].name}, kill -9 the other")
        self._proxies[number].flows.clear()
        time.sleep(self._dice.uniform(2, 6))
        self._kill_one(self._replicas[number - 1])
        # The Lease of the dead ends within this, and its successor does some work.
        time.sleep(self._dice.uniform(16, 24))
        self._proxies[number].flows.set()

    def _errors(self) -> None:
        seconds, share = self._dice.uniform(2, 10), self._dice.choice((0.1, 0.3, 0.6))
        self._say(f"{share:.0%} errors for {seconds:.0f} s")
        dice = random.Random(self._dice.random())  # noqa: S311 - a storm keeps no secret.

        def choose(_number: int, _name: str) -> Fault | None:
            if dice.random() > share:
                return PASS
            status = dice.choice(ERRORS)
            after = Fault(forward=dice.random() < 0.5, status=status)
            return dice.choice((LOSE_ANSWER, LOSE_REQUEST, after))

        for proxy in self._proxies:
            proxy.start_over(choose)
        time.sleep(seconds)
        for proxy in self._proxies:
            proxy.start_over()

    def _stopped_for(self, cluster: controlplane.Cluster, name: str, seconds: float) -> None:
        with self._turn:
            if name not in cluster.processes.running():
                return  # It has ended by itself, and is not begun again yet.
            pid = cluster.processes.pid(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
