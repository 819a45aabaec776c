"""The binder under many faults: gangs are whole in the end."""

import random
from collections import Counter

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault, Script
from gang_scheduler.model.refs import PodRef
from integration.support.binding_faults import (
    DENIED,
    LOST_ANSWER,
    REFUSED,
    SERVER_ERROR,
    UNREADABLE,
    bind_first,
)
from support.binder_harness import BinderHarness
from support.thoroughness import cases

pytestmark = pytest.mark.looptime


class Chaos:
    """Seeded misfortune for a share of all calls."""

    ERRORS = (SERVER_ERROR, LOST_ANSWER, UNREADABLE, REFUSED, DENIED, ApiError(429, "later", 0.5))

    def __init__(self, harness: BinderHarness, seed: int, share: float) -> None:
        self.harness = harness
        self.dice = random.Random(seed)  # noqa: S311 - a seed, not a secret.
        self.share = share
        self.met: Counter[str] = Counter()

    def __call__(self, call: Call) -> Fault | None:
        """Decide by dice."""
        if self.dice.random() > self.share:
            return Fault(delay_seconds=self.dice.choice([0, 0.01, 0.3]))
        kinds: list[Script] = [self.before, self.after]
        if call.method == "bind":
            kinds += [self.recreated, self.taken]
        kind = self.dice.choice(kinds)
        self.met[f"{call.method} {kind.__name__}"] += 1
        return kind(call)

    def before(self, _: Call) -> Fault:
        """Fail without an effect."""
        return Fault(self.dice.choice(self.ERRORS), delay_seconds=self.dice.random())

    def after(self, _: Call) -> Fault:
        """Lose the answer."""
        return Fault(self.dice.choice(self.ERRORS[:3]), after=True, delay_seconds=2)

    def recreated(self, call: Call) -> None:
        """Let a controller replace the pod."""
        gang = call.name.rpartition("-")[0]
        self.harness.pod(call.name, gang, uid=f"{call.name}-{self.dice.random()}")

    def taken(self, call: Call) -> None:
        """Let another scheduler be faster."""
        ref = PodRef(call.namespace, call.name, call.arguments["uid"])
        found = self.harness.cluster.get(PODS, ref.namespace, ref.name)
        if found["metadata"]["uid"] == ref.uid and not found["spec"].get("nodeName"):
            bind_first(self.harness, call, "elsewhere")


@pytest.mark.parametrize("seed", range(cases(6, thorough=120)))
async def test_fifty_gangs_are_whole_in_the_end_whatever_befalls_their_binding(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a seed, not a secret.
    sizes = {f"g{number}": dice.randint(1, 6) for number in range(50)}
    # Just enough room, so that a forgotten pod which is bound in truth would crowd a node.
    nodes = sum(sizes.values()) // 4 + 1
    async with BinderHarness(
        nodes, concurrency=8, echo_seconds=lambda: dice.choice([0, 0.05, 1.0])
    ) as harness:
        harness.node("elsewhere", 1000, unschedulable=True)
        for name, pods in sizes.items():
            harness.gang(name, pods)
        await harness.quiet()
        chaos = Chaos(harness, seed, share=0.4)
        harness.api.scripts = [chaos]

        await harness.cycles(harness.all_bound)

        harness.assert_the_cache_is_right()
        assert sum(sizes.values()) == len(harness.nodes())
        assert len({id(binding) for binding in harness.finished}) == len(harness.finished)
        assert all(binding.done for binding in harness.finished)
        assert 6 == len(chaos.met)
