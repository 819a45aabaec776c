"""One life of a random world: the real loop on a fake API server, with a clock that is faked."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime, tzinfo
from random import Random
from unittest.mock import patch

import looptime

from gang_scheduler.api.kinds import GVR, NODES, PODS
from gang_scheduler.client.fake import cluster as fake
from gang_scheduler.client.fake.cluster import Change, Document, FakeCluster
from search import facts, generator
from search.lives import rest
from search.lives.mishaps import Mishaps
from search.lives.process import Process
from search.lives.promises import Promises
from search.lives.staff import Staff
from search.lives.witness import Witness
from search.room import Room
from search.worlds import World
from support.watches import WATCHED

BEGAN_AT = 1_800_000_000
"""When lives begin, in seconds since the epoch: later than all that worlds say."""
BUSY_SECONDS = 60
QUIET_SECONDS = 900
MOST_EVICTIONS = 6
"""A pod: more than that is a circle, since each takes a preemptor of a higher priority."""


class Life:
    """What happens from a seed, and what is wrong with it in the end."""

    def __init__(self, seed: int, world: World) -> None:
        self.seed = seed
        self.story: list[str] = []
        self.complaints: list[str] = []
        self.evicted: Counter[str] = Counter()
        self._last_eviction = 0.0
        self._dice = Random(seed)  # noqa: S311 - for worlds, not for secrets.
        self._world = world
        self._cluster = FakeCluster()
        self._before: dict[str, str] = {}
        self._promises = Promises(self._clock)
        self._witness = Witness(self._clock)

    def live(self) -> list[str]:
        """Live it, and return the complaints."""

        def loop() -> asyncio.AbstractEventLoop:
            return looptime.new_event_loop(start=0, _enabled=True)

        with (
            patch.object(fake, "datetime", _Datetime(self._clock)),
            asyncio.Runner(loop_factory=loop) as runner,
        ):
            runner.run(self._live())
        return self.complaints

    async def _live(self) -> None:
        dice = self._dice
        self._staff = staff = Staff(self._cluster, dice, self._clock)
        self._cluster.watchers += [self._watch, self._witness.see]
        self._fill()
        mishaps = Mishaps(self._cluster, staff, dice)
        faulty = dice.random() < 0.5
        moments = sorted(dice.uniform(1, BUSY_SECONDS) for _ in range(dice.choice((0, 0, 1, 2, 5))))
        kills = sorted(dice.uniform(0.1, BUSY_SECONDS) for _ in range(dice.choice((0, 0, 1, 2))))
        disturbed = bool(moments or kills)
        for end in (*kills, BUSY_SECONDS):
            async with Process(self._cluster, self._clock) as process:
                if faulty:
                    process.api.scripts.append(mishaps.fault)
                while moments and moments[0] <= end:
                    await self._until(moments.pop(0))
                    self._tell(mishaps.happen())
                await self._until(end)
                if end == BUSY_SECONDS:
                    process.api.scripts.clear()
                    await asyncio.sleep(QUIET_SECONDS)
                    self._judge(disturbed=disturbed)
                self._calls(process)
            self._tell("the operator is killed")

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))

    def _fill(self) -> None:
        kinds = {(gvr.group, gvr.plural): gvr for gvr in WATCHED}
        for body in self._world.documents:
            group = body["apiVersion"].rpartition("/")[0]
            plural = PLURALS[body["kind"]]
            if body["kind"] == "Pod":
                self._staff.admit(_without_nomination(body))
            else:
                self._cluster.put(kinds[group, plural], body)

    def _calls(self, process: Process) -> None:
        """Count the evictions of a process, and complain of parts that have died."""
        self.complaints += [f"a part has died: {each}" for each in process.died()]
        for call in process.api.calls:
            if call.method == "delete_pod":
                self.evicted[f"{call.namespace}/{call.name}"] += 1
        process.api.calls.clear()

    def _watch(self, gvr: GVR, change: Change, document: Document) -> None:
        """Look at every binding at the moment of its write."""
        if gvr != PODS:
            return
        metadata = document["metadata"]
        uid, node = metadata["uid"], document["spec"].get("nodeName", "")
        if change == "DELETED":
            self._before.pop(uid, None)
            self._promises.forget(uid)
            return
        if metadata.get("deletionTimestamp") and document.get("status", {}).get("conditions"):
            self._last_eviction = self._time()
        was = self._before.get(uid)
        self._promises.see(document)
        self._before[uid] = node
        if was == "" and node:
            self._tell(f"{metadata['name']} is bound to {node}")
            self._check_node(node, metadata["name"])

    def _check_node(self, node: str, name: str) -> None:
        nodes = {b["metadata"]["name"]: b for b in self._cluster.all(NODES)}
        if node not in nodes:
            return
        pods = [pod for pod in facts.pods(self._cluster.all(PODS)) if pod.node and not pod.terminal]
        room = Room({node: nodes[node]}, [(pod, pod.node) for pod in pods])
        fresh = [pod for pod in pods if pod.key.endswith(f"/{name}")]
        if over := room.overfull(node, fresh):
            self.complaints.append(f"{self._time():.1f} {node} is over-committed by {name}: {over}")

    def _judge(self, *, disturbed: bool) -> None:
        """Look at the cluster at rest; stricter where nothing but the operator was at work."""
        documents = [body for gvr in WATCHED for body in self._cluster.all(gvr)]
        self.complaints += rest.complaints(documents)
        self.complaints += self._witness.complaints()
        if not disturbed:
            self.complaints += rest.of_the_undisturbed(documents, self._world.documents)
            names = self._promises.broken()
            self.complaints += [f"{name} was nominated, and never starts" for name in names]
        for key, number in self.evicted.items():
            if number > MOST_EVICTIONS:
                self.complaints.append(f"{key} is evicted {number} times")
        if self._last_eviction > BUSY_SECONDS + QUIET_SECONDS - 200:
            self.complaints.append(f"evictions go on: {self._last_eviction:.0f}")

    def _tell(self, words: str) -> None:
        if words:
            self.story.append(f"{self._time():.1f} {words}")

    def _time(self) -> float:
        return asyncio.get_running_loop().time()

    def _clock(self) -> float:
        return BEGAN_AT + self._time()


class _Datetime:
    """What the fake API server takes the time from."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    def now(self, zone: tzinfo) -> datetime:
        """Return the time of the life."""
        return datetime.fromtimestamp(self._clock(), zone)


PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "PodGroup": "podgroups",
    "ClusterNetworkTopology": "clusternetworktopologies",
    "Topology": "topologies",
    "PodDisruptionBudget": "poddisruptionbudgets",
}


def _without_nomination(body: Document) -> Document:
    """Return a pod as it is before anything was decided for it."""
    status = {k: v for k, v in body.get("status", {}).items() if k != "nominatedNodeName"}
    return {**body, "status": status}


def live(seed: int) -> Life:
    """Return the life of a seed, lived."""
    life = Life(seed, generator.world(seed, without=NEVER, always=ALWAYS))
    life.live()
    return life


ALWAYS = ("full", "priorities", "started")
NEVER = ("odd nodes",)
