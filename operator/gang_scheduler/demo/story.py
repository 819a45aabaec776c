"""The story: gangs start whole, one waits and says why, one preempts, and two teams share."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import CRDS, NODES, POD_GROUPS, PODS
from gang_scheduler.demo import cluster, world
from gang_scheduler.demo.cluster import Cluster, DemoFailed
from gang_scheduler.demo.screen import Screen
from gang_scheduler.demo.world import URGENT, Gang, Object

WAIT_SECONDS: Final = 60.0
LLAMA = Gang("llama", pods=6)
VISION = Gang("vision", pods=4)
SPEECH = Gang("speech", pods=8, gpus=4)
BIG = Gang("mixtral", pods=4)
RELEASE = Gang("release", pods=4, priority=URGENT)
TEAM_GPUS: Final = world.NODE_COUNT * world.GPUS // 2
BLUE = (Gang("blue-train", 8, queue="blue"), Gang("blue-sweep", 4, queue="blue"))
RED = Gang("red-train", 8, queue="red")


class Story:
    """The story of the demo, told on one screen. `tell` runs all scenes."""

    def __init__(self, where: Cluster, screen: Screen) -> None:
        self._where = where
        self._screen = screen
        self._made: list[Object] = []

    def prepare(self, *, guarded: bool) -> None:
        """Install the CRDs, and create the nodes.

        With `guarded`, the nodes have a taint: for a cluster with other pods.
        """
        for each in world.definitions():
            if not self._is_there(each):
                self._create([each])
        with self._screen.waiting("waiting until the CRDs are served"):
            self._until(self._serves, "the CRDs are not served")
        self._create(world.ground(guarded=guarded))

    def tell(self) -> None:
        """Tell all scenes. The operator must be running."""
        self._start_whole()
        self._wait()
        self._preempt()
        self._share()

    def clear(self) -> None:
        """Delete all created objects, the last one first."""
        for each in reversed(self._made):
            self._delete(each)
        self._made.clear()

    def clear_gangs(self) -> None:
        """Delete all gangs and queues, and wait until the pods are gone."""
        gangs = [each for each in self._made if each.gvr not in world.LASTING]
        for each in reversed(gangs):
            self._delete(each)
        self._made = [each for each in self._made if each.gvr in world.LASTING]
        with self._screen.waiting("deleting these gangs"):
            self._until(lambda: not self._pods(), "pods are left")

    def _start_whole(self) -> None:
        self._screen.heading("1. Gangs start whole")
        gangs = (LLAMA, VISION, SPEECH)
        self._screen.say("  " + "; ".join(f"{each.name}: {each.size}" for each in gangs))
        began = time.monotonic()
        for each in gangs:
            self._create(world.gang(each))
        with self._screen.waiting("waiting for the scheduler"):
            self._until(lambda: all(map(self._is_whole, gangs)), "a gang has not started")
        seconds = time.monotonic() - began
        count = sum(each.pods for each in gangs)
        self._screen.done(f"all {count} pods run, {seconds:.1f} s after the first was asked for")
        self._picture()

    def _wait(self) -> None:
        self._screen.heading("2. A gang that does not fit waits, and says why")
        free = len([gangs for gangs in self._nodes().values() if not any(gangs)])
        self._screen.say(f"  {BIG.name}: {BIG.size}; {free} nodes are free")
        self._create(world.gang(BIG))
        with self._screen.waiting("waiting for the scheduler"):
            self._until(lambda: bool(self._why(BIG)), f"{BIG.name} does not say why it waits")
        bound = self._bound(BIG)
        self._screen.done(f"{bound} of its pods have a node: no GPU is held by half a gang")
        self._command("list", "-n", world.NAMESPACE)
        self._screen.quote(self._why(BIG))

    def _preempt(self) -> None:
        self._screen.heading("3. A gang of higher priority makes room, and no gang is halved")
        self._screen.say(f"  {RELEASE.name}: {RELEASE.size}, priority 1000; the others have 0")
        self._create(world.gang(RELEASE))
        with self._screen.waiting("waiting for the scheduler"):
            self._until(lambda: self._is_whole(RELEASE), f"{RELEASE.name} has not started")
            self._until(self._nothing_is_halved, "a gang runs with a part of its pods")
        gone = [each.name for each in (LLAMA, VISION, SPEECH) if not self._bound(each)]
        left = [each.name for each in (LLAMA, VISION, SPEECH) if self._is_whole(each)]
        told = f"{', '.join(gone)} lost all of its pods to make room"
        self._screen.done(f"{told}; {' and '.join(left)} run on, untouched")
        self._picture()

    def _share(self) -> None:
        self._screen.heading("4. Two teams share: idle GPUs are lent, and come back when needed")
        self.clear_gangs()
        self._create([world.queue("blue", TEAM_GPUS), world.queue("red", TEAM_GPUS)])
        for each in BLUE:
            self._create(world.gang(each))
        with self._screen.waiting("waiting for the scheduler"):
            self._until(lambda: all(map(self._is_whole, BLUE)), "team blue does not run")
        self._screen.done(f"{TEAM_GPUS} GPUs each; blue runs on 96, 32 of them lent by red")
        self._create(world.gang(RED))
        with self._screen.waiting("waiting for the scheduler"):
            self._until(lambda: self._is_whole(RED), "team red does not get back what it lent")
        self._screen.done("red needs its own: blue gave one whole gang back, and kept the other")
        self._picture()
        self._command("queues")

    def _create(self, objects: Iterable[Object]) -> None:
        for each in objects:
            cluster.create(self._where, each.gvr, each.body)
            self._made.append(each)

    def _delete(self, what: Object) -> None:
        namespace = what.body["metadata"].get("namespace", "")
        path = what.gvr.path(namespace, what.name)
        self._where.request("DELETE", path, {"propagationPolicy": "Background"})

    def _is_there(self, what: Object) -> bool:
        return any(what.name == each["metadata"]["name"] for each in self._items(what.gvr))

    def _serves(self) -> bool:
        names = {each.name for each in world.definitions()}
        served = [
            each["metadata"]["name"]
            for each in self._items(CRDS)
            if any(
                (one["type"], one["status"]) == ("Established", "True")
                for one in each.get("status", {}).get("conditions", ())
            )
        ]
        return names <= set(served)

    def _items(self, gvr: Any, namespace: str = "") -> list[dict[str, Any]]:  # noqa: ANN401
        return cluster.items(self._where, gvr, namespace)

    def _pods(self) -> list[dict[str, Any]]:
        return self._items(PODS, world.NAMESPACE)

    def _bound(self, gang: Gang) -> int:
        return sum(_gang_of(pod) == gang.name and _is_placed(pod) for pod in self._pods())

    def _is_whole(self, gang: Gang) -> bool:
        return self._bound(gang) == gang.pods

    def _nothing_is_halved(self) -> bool:
        gangs = (LLAMA, VISION, SPEECH, BIG, RELEASE)
        return all(self._bound(each) in (0, each.pods) for each in gangs)

    def _why(self, gang: Gang) -> str:
        """Return why a gang does not fit; "" until its status says so."""
        for each in self._items(POD_GROUPS, world.NAMESPACE):
            if each["metadata"]["name"] == gang.name:
                conditions = each.get("status", {}).get("conditions", ())
                found = [e for e in conditions if e.get("reason") == "Unschedulable"]
                return str(found[0]["message"]) if found else ""
        return ""

    def _nodes(self) -> dict[str, list[str]]:
        """Return the gangs that use the GPUs of each node, with one entry per GPU."""
        ours = (each for each in self._items(NODES) if world.MARK in each["metadata"]["labels"])
        nodes: dict[str, list[str]] = {each["metadata"]["name"]: [] for each in ours}
        for pod in self._pods():
            if _is_placed(pod):
                asked = pod["spec"]["containers"][0]["resources"]["requests"][world.GPU]
                nodes[pod["spec"]["nodeName"]] += [_gang_of(pod)] * int(asked)
        room = world.GPUS
        return {name: sorted(gangs) + [""] * (room - len(gangs)) for name, gangs in nodes.items()}

    def _picture(self) -> None:
        self._screen.nodes(self._nodes())

    def _command(self, *words: str) -> None:
        with self._screen.waiting("waiting for the answer"):
            printed = cluster.command(self._where.kubeconfig, *words)
        self._screen.command(f"py-gang-scheduler {' '.join(words)}", printed)

    def _until(self, done: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not done():
            if time.monotonic() > deadline:
                raise DemoFailed(f"after {WAIT_SECONDS:.0f} s: {otherwise}")
            time.sleep(cluster.POLL_SECONDS)


def _gang_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get(annotations.POD_GROUP_LABEL, ""))


def _is_placed(pod: dict[str, Any]) -> bool:
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]
