"""Law: numbers of replicas under churn change by whole steps, at their pace, and come to rest."""

import asyncio
import json
from itertools import pairwise
from random import Random
from typing import Any, Final

from hypothesis import given

from gang_scheduler.model.gangs import APART_SECONDS
from gang_scheduler.scheduler.elastic_pace import LONGEST_WAIT_SECONDS, VAIN_SECONDS
from property.random_cases import SEEDS, dice_of
from support.replicas import STATE, ReplicasCluster, asked, job, stateful_set

MOMENTS: Final = 30
COOLDOWNS: Final = (0, 20, 90)
LOOK: Final = 10
"""Seconds from one look to the next."""


class _Churn:
    """One elastic workload, and others that come and go around it."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self.least = dice.randint(1, 3)
        self.most = self.least + dice.randint(1, 6)
        self.step = dice.randint(1, 3)
        self.cooldown = dice.choice(COOLDOWNS)
        self._others: list[tuple[str, int]] = []
        self.town = ReplicasCluster(cpu=dice.randint(self.most, 14))
        said = asked(self.least, self.most, self.cooldown, self.step)
        pods = dice.randint(self.least, self.most)
        kind = dice.choice(("indexed", "plain", "set"))
        body = (
            stateful_set(pods, said) if kind == "set" else job(pods, said, indexed=kind != "plain")
        )
        self.town.start(body)
        self.waited: dict[str, int] = {}

    def churn(self, moment: int) -> None:
        """Let another gang come or go, or make other room."""
        dice = self._dice
        match dice.randrange(4):
            case 0:
                name, pods, priority = f"o{moment}", dice.randint(1, 4), dice.choice((0, 5))
                self.town.gang(name, pods)
                for i in range(pods):
                    self.town.change(f"{name}-{i}", spec={"priority": priority})
                self._others.append((name, pods))
            case 1 if self._others:
                name, pods = self._others.pop(dice.randrange(len(self._others)))
                # Victims are gone already.
                for each in [f"{name}-{i}" for i in range(pods)]:
                    if ("default", each) in self.town.pods:
                        self.town.gone(each)
            case 2:
                self.town.room(dice.randint(self.least, 16))

    async def look(self) -> None:
        """Look once, and note how long each pod of the workload has waited for a node."""
        await self.town.look(later=LOOK)
        there = {
            body["metadata"]["uid"]
            for body in self.town.pods.values()
            if self.town._is_ours(body) and not body["spec"].get("nodeName")
        }
        self.waited = {uid: self.waited.get(uid, -LOOK) + LOOK for uid in there}

    def written(self) -> list[dict[str, Any]]:
        """Return what each change has noted, and when in seconds."""
        calls = (each for each in self.town.patches())
        return [json.loads(each["metadata"]["annotations"][STATE]) for each in calls]


async def _live(seed: int) -> _Churn:
    churn, dice = _Churn(dice_of(seed)), dice_of(seed + 1)
    times: list[int] = []
    for moment in range(MOMENTS):
        if dice.random() < 0.4:
            churn.churn(moment)
        if dice.random() < 0.1:
            churn.town.restart()
        before, number = len(churn.town.patches()), churn.town.replicas
        await churn.look()
        for each in churn.written()[before:]:
            times.append(churn.town.now)
            _check_change(churn, number, each)
        assert all(later - earlier >= APART_SECONDS for earlier, later in pairwise(times))
        if churn.town.replicas > churn.least:
            longest = VAIN_SECONDS + APART_SECONDS + 2 * LOOK
            assert max(churn.waited.values(), default=0) <= longest
    return churn


def _check_change(churn: _Churn, before: int, said: dict[str, Any]) -> None:
    after = said["workers"]
    assert churn.least <= after <= churn.most
    if said["why"] == "RoomFree":
        assert after - before == churn.step or after == churn.most
        assert after > before
    else:
        assert after < before


@given(seed=SEEDS)
def test_no_number_changes_against_what_the_workload_declares(seed: int) -> None:
    asyncio.run(_live(seed))


@given(seed=SEEDS)
def test_when_nothing_comes_or_goes_any_more_the_number_comes_to_rest(seed: int) -> None:
    async def rest() -> None:
        churn = await _live(seed)
        for _ in range(MOMENTS):
            await churn.town.look(later=LONGEST_WAIT_SECONDS // 4)
        number, changes = churn.town.replicas, len(churn.town.patches())
        for _ in range(6):
            assert number == await churn.town.look(later=LONGEST_WAIT_SECONDS)
        assert changes == len(churn.town.patches())

    asyncio.run(rest())
