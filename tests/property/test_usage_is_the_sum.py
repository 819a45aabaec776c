"""What queues are charged is always the sum over pods, whatever has happened in whatever order.

What is kept of gangs is what would be found anew: their queues, and what counts of running ones.
"""

from dataclasses import replace
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.evictions import Backfilled, RunTime
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.queues import QueueState
from gang_scheduler.model.refs import GangKey, GangName, QueueRequest
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.gangs.workloads import GangsByWorkload
from gang_scheduler.state.queues.charges import Flavors
from gang_scheduler.state.queues.queues_of_gangs import QueuesOfGangs
from gang_scheduler.state.queues.running_gangs import RunningGangs
from gang_scheduler.state.queues.usage import QueueUsageStore
from support.builders import SCHEDULER, gang_key, gang_spec, node
from support.queue_clusters import FLAVORS, OURS, QueueCluster, flavored
from support.thoroughness import cases

# ruff: noqa: D102 - the name of each rule says what happens.


PODS: Final = st.integers(0, 3)
NODES: Final = st.sampled_from(["n-spot", "n-firm"])
QUEUES: Final = st.sampled_from(["a", "a", "b", "gone", ""])
GANGS: Final = st.sampled_from(["g", "h", ""])
ENDS: Final = st.sampled_from([{}, {"gated": True}, {"deleting": True}, {"phase": "Succeeded"}])
RARELY: Final = st.sampled_from([False, False, False, True])
BACKFILLED: Final = st.sampled_from([None, *(Backfilled(6, gang_key(name)) for name in "gh")])
CHOSEN: Final = st.sampled_from([(), (("cpu", "spot"),), (("cpu", "firm"),)])


class Anew:
    """What is known of gangs, with queues that are found as if for the first time."""

    def __init__(self, gang_queue: GangQueue) -> None:
        names = gang_queue.queues.names
        self.queues = QueuesOfGangs(gang_queue.infos, names, GangsByWorkload())
        self.members_of = gang_queue.members_of
        self.group_of = gang_queue.group_of


class Events(RuleBasedStateMachine):
    """Everything that can happen to pods, gangs, nodes and queues."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = QueueCluster()
        self.cache = self.cluster.cache

    @initialize(first=st.booleans())
    def queues_are_there_or_come_late(self, first: bool) -> None:  # noqa: FBT001
        if first:
            self.cluster.declare(flavored("a", "spot", "firm"), flavored("b", "default"))
        for number, gang in enumerate(("g", "g", "h", "")):
            self.cluster.put(f"p-{number}", "a", gang=gang, node="n-spot")

    @rule(number=PODS, queue=QUEUES, gang=GANGS, node=NODES | st.just(""), own=st.booleans())
    def a_pod_is_seen(self, number: int, queue: str, gang: str, node: str, own: bool) -> None:  # noqa: FBT001
        scheduler = SCHEDULER if own else "other"
        self.cluster.put(f"p-{number}", queue, gang=gang, node=node, scheduler=scheduler)

    @rule(number=PODS, queue=QUEUES, node=NODES, flavor=st.sampled_from(["spot", "firm"]))
    def a_binding_is_seen(self, number: int, queue: str, node: str, flavor: str) -> None:
        written = {OURS: queue, FLAVORS: f'{{"cpu": "{flavor}"}}'}
        self.cluster.put(f"p-{number}", "a", node=node, annotations=written)

    @rule(number=PODS, state=ENDS, node=NODES | st.just(""))
    def a_pod_ends(self, number: int, state: dict[str, Any], node: str) -> None:
        if state:
            self.cluster.put(f"p-{number}", "b", gang="g", node=node, **state)
        else:
            self.cache.delete_pod(f"uid-p-{number}")

    @rule(number=PODS, node=NODES, flavors=CHOSEN, binds=st.booleans())
    def a_pod_gets_a_place(self, number: int, node: str, flavors: Flavors, binds: bool) -> None:  # noqa: FBT001
        pod = self.cache.pod(f"uid-p-{number}")
        if pod is not None and not pod.node and pod.scheduler == SCHEDULER:
            bind = Bind(pod, node, flavors=flavors)
            self.cache.assume(bind) if binds else self.cache.nominate([bind])

    @rule(number=PODS)
    def a_pod_loses_its_place(self, number: int) -> None:
        self.cache.forget(f"uid-p-{number}")
        self.cache.clear_nominations([f"uid-p-{number}"])

    @rule(name=NODES, kind=st.sampled_from(["spot", "firm", "none", ""]))
    def a_node_changes(self, name: str, kind: str) -> None:
        if kind:
            self.cache.upsert(self.cache.node_store, node(name, labels={"kind": kind}))
        else:
            self.cache.delete(self.cache.node_store, f"uid-{name}")

    @rule(flavors=st.permutations(["spot", "firm"]), name=st.sampled_from("abc"), goes=RARELY)
    def a_queue_changes(self, flavors: list[str], name: str, goes: bool) -> None:  # noqa: FBT001
        if goes:
            self.cluster.withdraw(name)
        else:
            self.cluster.declare(flavored(name, *flavors))

    @rule(
        name=st.sampled_from("gh"),
        other=st.sampled_from(["g", "h", "i", ""]),
        of_class=RARELY,
        created_at=st.integers(4, 6),
        lasts=st.sampled_from([None, RunTime(expected=5)]),
    )
    def a_gang_says_else(
        self,
        name: str,
        other: str,
        of_class: bool,  # noqa: FBT001
        created_at: int,
        lasts: RunTime | None,
    ) -> None:
        self.running_gangs_are_as_found_anew()
        groups = (GangName("default", other),) if other else ()
        spec = replace(
            gang_spec(name, 1, uid=f"uid-{name}", created_at=created_at, groups=groups),
            queue_request=QueueRequest(priority_class="x") if of_class else None,
            run_time=lasts,
        )
        self.cluster.gangs.upsert_gang_specs("x", f"uid-{name}", [spec])
        self.running_gangs_are_as_found_anew()

    @rule()
    def a_cycle_is_made(self) -> None:
        self.cache.snapshot(0)

    @rule()
    def usage_is_the_sum(self) -> None:
        recounted = QueueUsageStore(Anew(self.cache.gang_queue), self.cache.node_usage.labels_of)
        kept, _ = self.cache.queue_usage.settle(self.cache.pod_store, 0)
        gangs = self.cache.gang_queue
        found = {key: gangs.queues.of(key) for key in gangs.infos}

        assert found == {key: Anew(gangs).queues.of(key) for key in gangs.infos}
        # What was decided, and where a pod was bound, is remembered: objects do not say it again.
        recounted._decided = self.cache.queue_usage._decided
        recounted._bound = dict(self.cache.queue_usage._bound)
        made, _ = recounted.settle(self.cache.pod_store, 0)

        assert shown(made) == shown(kept)
        assert 0 == self.cache.usage_differences()

    @rule(name=st.sampled_from("gh"), passed=BACKFILLED, says=BACKFILLED, here=st.booleans())
    def a_gang_passes_another(
        self,
        name: str,
        passed: Backfilled | None,
        says: Backfilled | None,
        here: bool,  # noqa: FBT001
    ) -> None:
        info = self.cluster.gangs.infos.get(gang_key(name))
        if info is not None:
            info.backfilled, info.admitted_here = passed, here
            written = (
                None if says is None else (says.until, GangName("default", says.ahead_of.name))
            )
            spec = replace(gang_spec(name, 1, uid=f"uid-{name}"), backfilled=written)
            self.cluster.gangs.upsert_gang_specs("x", f"uid-{name}", [spec])

    @rule(now=st.sampled_from([None, 0, 5, 6, 20]), enforcing=st.booleans())
    def running_gangs_are_as_found_anew(
        self, now: int | None = 0, *, enforcing: bool = False
    ) -> None:
        self.cache.queue_state(0)
        gangs, rules = self.cache.gang_queue, self.cache.evictable_pods.rules
        recounted = RunningGangs(gangs.infos, gangs.queues, rules)
        there = self.cache.running(0)
        kept = self.cache._running_gangs.put_in(there, there.charged, now, enforcing=enforcing)
        made = recounted.put_in(there, there.charged, now, enforcing=enforcing)

        assert told(made) == told(kept)
        assert [*made.gangs] == [*kept.gangs]

    def teardown(self) -> None:
        self.running_gangs_are_as_found_anew()
        self.usage_is_the_sum()


def told(bound_pods: BoundPods) -> dict[GangKey, tuple[object, ...]]:
    """Return what is known of the gangs on nodes."""
    gangs = bound_pods.gangs.items()
    return {key: (each.pods, each.charged, each.known) for key, each in gangs}


def shown(state: QueueState | None) -> object:
    """Return the figures of a state."""
    return state and (state.usage.charged, state.usage.asked, state.usage.running)


Events.TestCase.settings = settings(
    max_examples=cases(60, thorough=2000), stateful_step_count=50, deadline=None
)
TestUsage = Events.TestCase
