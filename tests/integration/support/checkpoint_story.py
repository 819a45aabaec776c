"""Random runs in which gangs are asked to save their work, beside a small model of what may happen.

The model sees writes and objects alone: which request stands on which pod since when, and what the
jobs have answered.
"""

import asyncio
import contextlib
import random
from collections import Counter
from datetime import datetime
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, NODES, POD_GROUPS, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.model.wording import rfc3339
from integration.support.saving_gangs import ANNOTATES
from integration.support.victims_and_preemptor import NAMESPACE
from support import api_objects
from support.builders import POD_GROUP_LABEL
from support.scheduler_process import FakeWorkloads, SchedulerProcess, began_at

NODES_FULL = 4
SIZE = 2
ROUNDING_SECONDS = 1
"""Requests say when they were made in whole seconds."""
ERRORS = (ApiError(429, "later", 0.5), ApiError(500, "no"), ApiError(0, "lost"))


class Model:
    """Which gangs may be evicted: those that have answered, and those whose time is over.

    `wrong` is what was done that may not be.
    """

    def __init__(self, made: FakeWorkloads, timeouts: dict[str, int]) -> None:
        self.answered: set[str] = set()
        self.wrong: list[str] = []
        self.evicted: Counter[str] = Counter()
        self._made = made
        self._timeouts = timeouts
        self._asked_at: dict[str, float] = {}
        made.cluster.watchers.append(self._see)

    def _see(self, gvr: GVR, _: str, body: dict[str, Any]) -> None:
        """Note since when each request stands, as it says."""
        if gvr == PODS and (request_id := request_of(body)):
            at = body["metadata"]["annotations"][annotations.CHECKPOINT_REQUESTED_AT]
            seconds = datetime.fromisoformat(at).timestamp()
            self._asked_at.setdefault(request_id, seconds - began_at())

    def judge(self, call: Call) -> None:
        """Note a mark or a deletion that comes too soon."""
        marks = call.method == "patch_pod_condition" and call.arguments["condition"].get("status")
        if call.method != "delete_pod" and marks != "True":
            return
        if not self._made.cluster.has(PODS, NAMESPACE, call.name):
            return
        body = self._made.cluster.get(PODS, NAMESPACE, call.name)
        gang = body["metadata"]["labels"].get(POD_GROUP_LABEL, "")
        if call.method == "delete_pod":
            self.evicted[gang] += 1
        if gang in self._timeouts and (why := self._why_not(gang, request_of(body))):
            self.wrong.append(f"{call.method} {call.name}: {why}")

    def _why_not(self, gang: str, request_id: str) -> str:
        """Return why a pod may not go that a request stands on, "" if it may."""
        if not request_id:
            return "it is not asked"
        waited = asyncio.get_running_loop().time() - self._asked_at[request_id]
        if request_id in self.answered or waited >= self._timeouts[gang] - ROUNDING_SECONDS:
            return ""
        return f"asked {waited:.1f} s ago, of {self._timeouts[gang]}, and not answered"


class Story:
    """One run: nodes full of gangs in several modes, and gangs that come and go above them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - a seed, not a secret.
        self.made = FakeWorkloads(*(f"n{i}" for i in range(NODES_FULL)))
        self.happened: Counter[str] = Counter()
        self._high = 0
        self._answer_at: dict[str, float] = {}
        timeouts: dict[str, int] = {}
        for number in range(2 * NODES_FULL):
            name, seconds = f"low{number}", self.dice.choice((5, 20, 60))
            says = {annotations.CHECKPOINT_TIMEOUT: f"{seconds}s"}
            if self.dice.random() < 0.8:
                says[annotations.CHECKPOINT] = "Annotation"
                timeouts[name] = seconds
            where = f"n{number // 2}"
            self.made.gang(name, SIZE, priority=number % 3, node=where, says=says)
        self.model = Model(self.made, timeouts)

    async def play(self, steps: int) -> None:
        """Let a number of things happen, in one process after the other."""
        while steps > 0:
            async with self._process() as process:
                for _ in range(self.dice.randint(1, 8)):
                    self._one()
                    await asyncio.sleep(self.dice.choice((0.1, 1, 7, 20)))
                    self._answers()
                    steps -= 1
            self.happened["restart"] += 1
            del process

    async def end(self) -> None:
        """Let nothing more wait, and all that is under way come to its end."""
        async with self._process(faults=False) as process:
            for pod in list(self.made.pods().values()):
                if pod.name.startswith("high") and not pod.node:
                    self.made.cluster.delete(PODS, NAMESPACE, pod.name)
            await asyncio.sleep(200)
            await process.evictor.drain()

    def _process(self, *, faults: bool = True) -> SchedulerProcess:
        process = SchedulerProcess(self.made, modes=ANNOTATES)
        if faults:
            process.api.scripts.append(self._fault)
        process.api.scripts.insert(0, self.model.judge)
        return process

    def _fault(self, call: Call) -> Fault | None:
        if call.method not in {"annotate_pod", "nominate", "patch_pod_condition"}:
            return None
        if self.dice.random() < 0.1:
            self.happened["fault"] += 1
            return Fault(self.dice.choice(ERRORS), after=self.dice.random() < 0.5)
        return Fault(delay_seconds=self.dice.choice((0, 0.1)))

    def _one(self) -> None:
        """Let one thing happen."""
        what = self.dice.choice((self._come, self._come, self._go, self._grow, self._report))
        what()
        self.happened[what.__name__] += 1

    def _come(self) -> None:
        """Let a gang come that needs room of others."""
        name, size = f"high{self._high}", self.dice.choice((1, 2, 4))
        self._high += 1
        self.made.gang(name, size, priority=10 + self.dice.randint(0, 2))

    def _go(self) -> None:
        """Let a gang go that waits, or that has room."""
        names = sorted({p.name.partition("-")[0] for p in self.made.pods().values()})
        there = [each for each in names if each.startswith("high")]
        if not there:
            return
        gone = self.dice.choice(there)
        for pod in list(self.made.pods().values()):
            if pod.name.partition("-")[0] == gone:
                self.made.cluster.delete(PODS, NAMESPACE, pod.name)

    def _grow(self) -> None:
        """Let there be room elsewhere, now and then."""
        if self.dice.random() < 0.2:
            name = f"new{self._high}-{self.dice.randint(0, 9)}"
            room = {"cpu": "2", "memory": "8Gi", "pods": "9"}
            self.made.cluster.put(NODES, api_objects.node_body(name, allocatable=room))

    def _report(self) -> None:
        """Let a gang report of its own accord, or answer what it was not asked."""
        pods = [p for p in self.made.pods().values() if p.name.startswith("low")]
        if pods:
            self._write(PODS, self.dice.choice(pods).name, self.dice.choice(("", "another")))

    def _answers(self) -> None:
        """Let gangs answer what stands on their pods, some of them, some time."""
        now = asyncio.get_running_loop().time()
        for body in self.made.cluster.all(PODS):
            request_id, name = request_of(body), body["metadata"]["name"]
            if not request_id:
                continue
            late = self.dice.choice((0, 3, 15, 1000))
            if now < self._answer_at.setdefault(request_id, now + late):
                continue
            self.model.answered.add(request_id)
            on_group = self.dice.random() < 0.3
            gang = body["metadata"]["labels"][POD_GROUP_LABEL]
            where = (POD_GROUPS, gang) if on_group else (PODS, name)
            self._write(*where, request_id)
            self.happened["answer"] += 1

    def _write(self, gvr: GVR, name: str, request_id: str) -> None:
        said = {
            annotations.CHECKPOINT_DONE_AT: rfc3339(
                int(began_at() + asyncio.get_running_loop().time())
            ),
            annotations.CHECKPOINT_STEP: str(self.dice.randint(0, 9)),
        }
        with contextlib.suppress(ApiError), self.made.cluster.changing(gvr, NAMESPACE, name) as it:
            present = it["metadata"].get("annotations") or {}
            # Work that is saved once a request stands is what was asked for.
            self.model.answered.add(request_of(it))
            if request_id and request_of(it) in {"", request_id}:
                said[annotations.CHECKPOINT_REQUEST_ID] = request_id
            it["metadata"]["annotations"] = {**present, **said}


def request_of(body: dict[str, Any]) -> str:
    """Return the id of the request that stands on a pod, "" for none."""
    present: dict[str, str] = body["metadata"].get("annotations") or {}
    stands = annotations.CHECKPOINT_REQUESTED_AT in present
    return present.get(annotations.CHECKPOINT_REQUEST_ID, "") if stands else ""
