"""Random lives of gangs that nodes are bought for, and a small model of what may be asked.

The model sees nothing of the scheduler but the objects that it creates and deletes. What it answers
itself it knows.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.fake.cluster import Document
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.model.queues import Retry
from support.bought_nodes import NAMESPACE, REQUESTS, BoughtNodes, Killed

GANGS: Final = 7
MOMENTS: Final = 40
MOST: Final = 3
RETRY: Final = Retry(2, 20, 60)
GANG, DIGEST = "py-gang-scheduler.io/provisioned-gang", "py-gang-scheduler.io/provisioning-digest"
OVER: Final = ("Failed", "CapacityRevoked", "BookingExpired")


def gang_of(body: Document) -> str:
    """Return the gang that a request names."""
    return str(body["metadata"]["annotations"][GANG]).removeprefix("PodGroup/")


def stands(body: Document) -> bool:
    """Return whether nodes are being bought by a request, or are there."""
    conditions = body.get("status", {}).get("conditions", [])
    return not any(each["type"] in OVER for each in conditions)


@dataclass
class Judge:
    """The model: what may be created now, by what there is and what was answered.

    `ended` is when the last request of a gang came to nothing, and how many did in a row, for what
    the gang asked for then. `queues` are those of gangs, if there are any.
    """

    faults: list[str] = field(default_factory=list)
    known: dict[str, Document] = field(default_factory=dict)
    ended: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    queues: dict[str, str] = field(default_factory=dict)
    now: int = 0

    def see(self, gvr: GVR, change: str, body: Document) -> None:
        """See what the API server has now."""
        if gvr == PODS and body["spec"].get("nodeName"):
            self.started.add(body["metadata"]["name"].rpartition("-")[0])
        if gvr != REQUESTS:
            return
        name = body["metadata"]["name"]
        if change == "ADDED":
            self._judge(body)
        if change == "DELETED":
            self.known.pop(name, None)
        else:
            self.known[name] = body

    def _judge(self, body: Document) -> None:
        gang, asked = gang_of(body), body["metadata"]["annotations"][DIGEST]
        others = [each for each in self.known.values() if stands(each)]
        if any(gang_of(each) == gang for each in others):
            self.faults.append(f"{gang}: a second request while one stands")
        waiting = [
            each
            for each in others
            if gang_of(each) not in self.started
            and self.queues.get(gang_of(each)) == self.queues.get(gang)
        ]
        if len(waiting) >= MOST:
            self.faults.append(f"{gang}: {len(waiting)} requests stand already")
        if (gang, asked) in self.ended:
            at, times = self.ended[gang, asked]
            if times > RETRY.times:
                self.faults.append(f"{gang}: asked again after {times} times")
            pause = min(RETRY.base_seconds * 2 ** (times - 1), RETRY.most_seconds)
            if self.now < at + pause:
                self.faults.append(f"{gang}: asked again {self.now - at} s after {times} times")

    def over(self, body: Document) -> None:
        """Note that a request came to nothing."""
        key = gang_of(body), body["metadata"]["annotations"][DIGEST]
        _, times = self.ended.get(key, (0, 0))
        self.ended[key] = self.now, times + 1

    def forget(self, gang: str) -> None:
        """Note that a gang asks for something else, or has begun: what came to nothing is past."""
        self.ended = {key: each for key, each in self.ended.items() if key[0] != gang}


class Life:
    """One cluster, its gangs and its autoscaler; each moment something happens to one of them."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.judge = Judge()
        self.nodes = BoughtNodes(retry=RETRY)
        self.nodes.cluster.watchers.insert(0, self.judge.see)
        self.gangs: dict[str, int] = {}
        self._lives = 0
        self._queues: tuple[str, ...] = ("",)
        if dice.random() < 0.5:
            self._queues = ("p", "q")
            for name, cpus in (("root", 2000), ("p", 1000), ("q", 1000)):
                self.nodes.queue(name, cpus)
        self.judge.now = self.nodes.now

    def happen(self) -> None:
        """Let something happen, then let the scheduler go on for a while."""
        self._flaky()
        dice = self.dice
        match dice.randrange(14):
            case 0 | 1 | 2 | 3:
                self._create()
            case 4 if self.gangs:
                self._delete(dice.choice([*self.gangs]))
            case 5 if self.gangs:
                self._change(dice.choice([*self.gangs]))
            case 6 if self.gangs:
                self._replace_member(dice.choice([*self.gangs]))
            case 7:
                self.nodes.node(f"found-{self._life()}", cpu=dice.randint(1, 6))
            case 8:
                self.nodes.catch_up()
                self.nodes.lag = []
            case 9:
                self.nodes.begin()
            case 10:
                self.nodes.kill_at, self.nodes.kill_after = dice.randint(0, 3), dice.random() < 0.5
            case _:
                self._answer()
        self._go_on(dice.choice((0, 1, 5, 11, 25, 70)))

    def rest(self) -> None:
        """Let all be well, and time pass, with an autoscaler that has no answer any more."""
        self.nodes.kill_at = None
        self.nodes.begin()
        for _ in range(12):
            self._go_on(30)

    def _go_on(self, seconds: int) -> None:
        self._pass(seconds)
        for _ in range(2):
            try:
                self.nodes.step()
            except Killed:
                self.nodes.kill_at = None
                self.nodes.begin()
            self._pass(1)

    def _pass(self, seconds: int) -> None:
        self.nodes.now += seconds
        self.judge.now = self.nodes.now

    def _flaky(self) -> None:
        """Let some answers be lost: of writes that happened, and of others."""
        dice = self.dice

        def fault(call: Call) -> Fault | None:
            if call.method not in ("create", "delete") or dice.random() > 0.15:
                return None
            return Fault(ApiError(dice.choice((0, 429, 503)), "flaky"), after=dice.random() < 0.5)

        self.nodes.api.scripts[1:] = [fault]

    # Gangs.

    def _life(self) -> int:
        self._lives += 1
        return self._lives

    def _create(self) -> None:
        if len(self.gangs) < GANGS:
            name, pods = f"g{self._life()}", self.dice.randint(1, 3)
            self.gangs[name] = pods
            queue = self.judge.queues[name] = self.dice.choice(self._queues)
            self.nodes.gang(name, pods, cpu=self.dice.randint(1, 3), queue=queue)

    def _delete(self, name: str) -> None:
        del self.gangs[name]
        self.nodes.delete_gang(name)

    def _change(self, name: str) -> None:
        """Let a gang name another class, or one that it named before."""
        if not self.nodes.bound(name):
            self.judge.forget(name)
            with self.nodes.cluster.changing(self.nodes.pod_groups, NAMESPACE, name) as found:
                named = {"py-gang-scheduler.io/provisioning-class": self.dice.choice("xyz")}
                found["metadata"]["annotations"] = named

    def _replace_member(self, name: str) -> None:
        if not self.nodes.bound(name):
            self.judge.forget(name)
            number = self.dice.randrange(self.gangs[name])
            self.nodes.member(name, number, cpu=self.dice.randint(1, 3), life=self._life())

    # The autoscaler.

    def _answer(self) -> None:
        open_ones = [each for each in self.nodes.requests if stands(each)]
        if not open_ones:
            return
        body = self.dice.choice(open_ones)
        name = body["metadata"]["name"]
        conditions = body.get("status", {}).get("conditions", [])
        if any(each["type"] == "Provisioned" for each in conditions):
            state = self.dice.choice((RequestState.EXPIRED, RequestState.REVOKED))
        else:
            state = self.dice.choice(
                (
                    RequestState.ACCEPTED,
                    RequestState.PROVISIONED,
                    RequestState.FAILED,
                    RequestState.FAILED,
                )
            )
        if state is RequestState.PROVISIONED and self.dice.random() < 0.8:
            self.nodes.node(f"bought-{self._life()}", cpu=9)
        if state in (RequestState.EXPIRED, RequestState.REVOKED, RequestState.FAILED):
            self.judge.over(body)
        self.nodes.answer(name, state)
