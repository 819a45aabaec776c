"""A hundred elastic Jobs in mode `Replicas` under churn, judged by what was written to them.

The judge knows nothing of the scheduler: it watches the Jobs of the API server in memory.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pytest

from gang_scheduler.api.kinds import GVR, JOBS
from gang_scheduler.apply.workloads.replicas import FIELD_MANAGER
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import api_objects, applying
from support.elastic_cluster import _Evicts
from support.replicas import INDEX, ReplicasCluster, asked, job
from support.thoroughness import cases

pytestmark = pytest.mark.looptime

GANGS: Final = 100
NODES: Final = 20
LEAST, MOST = 1, 6
COOLDOWN: Final = 60
APART: Final = 30
STEP: Final = 10
"""In seconds: how often there is a cycle and a look at the numbers of replicas."""
CHURN: Final = 1200
QUIET: Final = 3600
SETTLED: Final = 1200


@dataclass(frozen=True, slots=True)
class Wrote:
    """A change of the number of a Job that the scheduler wrote."""

    at: int
    before: int
    after: int
    why: str

    @property
    def direction(self) -> int:
        """1 if the Job grew, else -1."""
        return 1 if self.after > self.before else -1


@dataclass(slots=True)
class Judge:
    """Judges each version of each Job as it is stored."""

    changes: dict[str, list[Wrote]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _known: dict[str, Document] = field(default_factory=dict)

    def saw(self, now: int, change: Change, found: Document) -> None:
        """Take in a version of a Job."""
        name, spec = found["metadata"]["name"], found["spec"]
        before = self._known.pop(name, None)
        if change == "DELETED":
            self.changes.pop(name, None)
            return
        self._known[name] = {**found, "spec": {**spec}}
        if before is None:
            return
        number, was = spec["parallelism"], before["spec"]["parallelism"]
        if number == was:
            self.faults.append(f"{name} at {now}: written without a change")
            return
        if not LEAST <= number <= MOST:
            self.faults.append(f"{name} at {now}: {number} is out of bounds")
        if number != spec["completions"]:
            self.faults.append(f"{name} at {now}: {spec['completions']} completions of {number}")
        state = found["metadata"]["annotations"]["py-gang-scheduler.io/elastic-state"]
        wrote = Wrote(now, was, number, "Preempted" if "Preempted" in state else "Room")
        earlier = self.changes.setdefault(name, [])
        if earlier and now - earlier[-1].at < APART:
            self.faults.append(f"{name} at {now}: changed {now - earlier[-1].at} s before")
        if wrote.direction > 0 and earlier and now - earlier[-1].at < COOLDOWN:
            self.faults.append(f"{name} at {now}: grew within the cooldown")
        earlier.append(wrote)

    def flapping(self) -> Iterator[str]:
        """Yield the Jobs whose direction turned twice within two cooldowns, by no preemption."""
        for name, changes in self.changes.items():
            turns = [
                later.at
                for earlier, later in pairwise(changes)
                if earlier.direction != later.direction and later.why != "Preempted"
            ]
            if any(second - first < 2 * COOLDOWN for first, second in pairwise(turns)):
                yield f"{name} turned at {turns}"


class Churn(ReplicasCluster):
    """Many Jobs on many nodes, and what happens to them."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(0)
        self.chance = chance
        self.judge = Judge()
        self.urgent: list[str] = []
        self.said.record = lambda *_, **__: None  # type: ignore[method-assign]
        self._numbers = 0
        self._cpu = {f"node-{i}": 16 for i in range(NODES)}
        for name in self._cpu:
            self._offer(name)
        self.api.cluster.watchers.append(self._judge)
        for _ in range(GANGS):
            self.arrives()

    def arrives(self) -> None:
        """Create another Job."""
        self._numbers += 1
        policy = asked(LEAST, MOST, up=COOLDOWN, step=self.chance.choice((1, 2)))
        body = job(self.chance.randint(LEAST, MOST), policy)
        body["metadata"]["name"] = f"job-{self._numbers:04}"
        self.api.cluster.put(JOBS, body)

    def happens(self) -> None:
        """Let something happen by chance."""
        name = self.chance.choice(sorted(self._cpu))
        match self.chance.randrange(6):
            case 0:
                self._cpu[name] = self.chance.choice((8, 16, 24))
                self._offer(name)
            case 1:
                self.urgent.append(f"urgent-{len(self.urgent)}-{self.now}")
                self.pod(self.urgent[-1], spec={"priority": 10})
            case 2 if self.urgent:
                self.gone(self.urgent.pop(self.chance.randrange(len(self.urgent))))
            case 3:
                jobs = [each["metadata"]["name"] for each in self.api.cluster.all(JOBS)]
                self.api.cluster.delete(JOBS, "default", self.chance.choice(sorted(jobs)))
                self.arrives()
            case 4:
                mine = sorted(name for _, name in self.pods if name.startswith("job-"))
                self.gone(self.chance.choice(mine))
                self.control()
            case _:
                pass

    async def step(self) -> None:
        """Let some seconds pass: a cycle, and a look at the numbers."""
        self.now += STEP
        plan = schedule(self.cache.snapshot(self.now), PROFILES["binpack"])
        applying.take_in(self.cache, plan, self.now, _Evicts(self))
        for victim in [each for made in plan.preemptions for each in made.victims]:
            self.gone(victim.pod.name)
        self.control()
        await self.scaler.look()

    def control(self) -> None:
        """Do what the controller of Jobs does, for all of them."""
        for body in self.api.cluster.all(JOBS):
            self._control_one(body)

    def too_patient(self) -> list[str]:
        """Return the surplus pods that wait for longer than they may."""
        wait = [pod for pod in self.pods.values() if not pod["spec"].get("nodeName")]
        since = rfc3339(self.now - 4 * 60)
        late = [pod for pod in wait if pod["metadata"].get("creationTimestamp", since) < since]
        return [
            name
            for name in (each["metadata"]["name"] for each in late)
            if name.startswith("job-") and int(name.split("-")[2]) >= LEAST
        ]

    def _control_one(self, body: Document) -> None:
        name, number = body["metadata"]["name"], body["spec"]["completions"]
        pods = {each: pod for (_, each), pod in self.pods.items() if each.startswith(f"{name}-")}
        indexes = {int(each.split("-")[2]): each for each in pods}
        for index, pod in indexes.items():
            if index >= number:
                self.gone(pod)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        owner |= {"name": name, "uid": body["metadata"]["uid"]}
        for index in set(range(number)) - indexes.keys():
            template = body["spec"]["template"]
            self._numbers += 1
            notes = {INDEX: str(index)}
            self.pod(
                f"{name}-{index}-{self._numbers}",
                labels={**template["metadata"]["labels"], **notes},
                annotations=notes,
                ownerReferences=[owner],
                creationTimestamp=rfc3339(self.now),
                spec=template["spec"],
            )

    def _saw(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr != JOBS:
            return
        self.put(document, change)
        if change == "DELETED":
            name = document["metadata"]["name"]
            for pod in [pod for _, pod in self.pods if pod.startswith(f"{name}-")]:
                self.gone(pod)
        else:
            self._control_one(document)

    def _judge(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr == JOBS:
            self.judge.saw(self.now, change, document)

    def _offer(self, name: str) -> None:
        offered = {"cpu": str(self._cpu[name]), "memory": "100Gi", "pods": "500"}
        self.put(api_objects.node_body(name, allocatable=offered))


@pytest.mark.parametrize("seed", range(cases(1, thorough=20)))
async def test_a_hundred_gangs_keep_their_bounds_under_churn_and_then_settle(seed: int) -> None:
    town = Churn(random.Random(seed))  # noqa: S311 - for cases, not for secrets.
    for _ in range(CHURN // STEP):
        for _ in range(2):
            town.happens()
        await town.step()
        assert [] == town.judge.faults
    during = written(town)
    assert during > GANGS // 2

    for _ in range(QUIET // STEP):
        await town.step()
        assert [] == town.judge.faults
    assert [] == [*town.judge.flapping()]
    assert [] == town.too_patient()
    last = [changes[-1].at for changes in town.judge.changes.values() if changes]
    assert max(last) < town.now - SETTLED
    assert all(each["manager"] == FIELD_MANAGER for each in arguments(town))


def arguments(town: Churn) -> list[Mapping[str, Any]]:
    return [each.arguments for each in town.api.calls if each.method == "patch"]


def written(town: Churn) -> int:
    """Return how many patches were sent."""
    return len(arguments(town))


async def test_the_judge_finds_what_it_is_for() -> None:
    judge = Judge()

    def version(number: int, completions: int = 0) -> Document:
        notes = {"py-gang-scheduler.io/elastic-state": "{}"}
        spec = {"parallelism": number, "completions": completions or number}
        return {"metadata": {"name": "a", "annotations": notes}, "spec": spec}

    judge.saw(0, "ADDED", version(2))
    judge.saw(100, "MODIFIED", version(3))
    assert [] == judge.faults
    for at, *numbers in ((110, 2), (140, 9), (400, 3, 4), (500, 3)):
        judge.saw(at, "MODIFIED", version(*numbers))
    assert [
        "a at 110: changed 10 s before",
        "a at 140: 9 is out of bounds",
        "a at 140: grew within the cooldown",
        "a at 400: 4 completions of 3",
        "a at 500: written without a change",
    ] == judge.faults
    assert ["a turned at [110, 140, 400]"] == [*judge.flapping()]
