"""Law: whatever a tenant writes, gangs of others are decided as without it, at a bounded cost.

The cost is counted in calls of Python functions, and measured as CPU: a slow loop in C is one call.
Where an attack is made of many objects, it is compared with as many harmless ones.
"""

import pytest
import structlog

from fuzz import attacks
from fuzz.attacks import ATTACKS, GOOD, SIZE, Body
from gang_scheduler import internal_errors
from gang_scheduler.api import parsing
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.model.plan import Plan
from gang_scheduler.report.words.messages import describe
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import cache_feeding, cpu
from support.call_counts import at_most, calls_of

NOW = 1_704_067_300
OTHERS = "default"
FEW = 2_000_000
"""More calls than any attack of few objects costs: about a second."""
EACH = 600
"""And than any object costs of an attack of many."""
FEW_UNITS, EACH_UNITS = 2_000, 2
"""The same of CPU: of what is measured, the least of some attempts."""
A_CHANGE = 1_000
"""And than a change of an object costs that describes a few pods."""

TOO_LARGE = {
    "a_job_of_2_to_the_31_pods",
    "a_job_of_a_hundred_thousand_pods",
    "a_job_set_of_a_hundred_million_pods",
    "a_job_set_of_jobs_without_pods",
    "a_leader_worker_set_of_2_to_the_31_groups",
}
"""Attacks that are refused with a number."""


class Cluster:
    """A cluster with the gangs of others, in which a tenant writes."""

    def __init__(self) -> None:
        self.cache = Cache(["py-gang-scheduler"], Changes())
        self.left_out = LeftOutObjects()
        self._handlers = cache_feeding.event_handlers(self.cache, self.left_out)
        self.tell(attacks.world())

    def tell(self, bodies: list[Body]) -> None:
        """Let objects come."""
        for each in bodies:
            cache_feeding.tell(self._handlers, "ADDED", each)

    def plan(self) -> Plan:
        """Return what is decided."""
        return schedule(self.cache.snapshot(NOW), PROFILES["binpack"])


@pytest.mark.parametrize("name", ATTACKS)
def test_gangs_of_others_start_and_the_cost_and_the_words_are_bounded(name: str) -> None:
    internal_errors.forget()
    cluster, bodies = Cluster(), ATTACKS[name]()
    plans: list[Plan] = []

    def attacked() -> None:
        cluster.tell(bodies)
        plans.append(cluster.plan())

    with structlog.testing.capture_logs():
        cost = calls_of(attacked)

    at_most(FEW + EACH * len(bodies), cost)
    assert "" == internal_errors.problem()
    assert () == plans[0].failures
    started = [each for each in plans[0].placed if each.gang.key.namespace == OTHERS]
    assert GOOD * SIZE == sum(len(each.binds) for each in started)
    refused = [str(each.why) for each in cluster.left_out.take_all()]
    assert (name in TOO_LARGE) == any("at most" in each for each in refused)
    for text in (*refused, *map(describe, plans[0].refused)):
        assert text.isprintable()
        assert len(text) <= parsing.LONGEST_MESSAGE + len("...")


@pytest.mark.parametrize("name", ATTACKS)
def test_the_cpu_of_taking_it_in_and_deciding_is_bounded(name: str) -> None:
    bodies = ATTACKS[name]()

    def attacked() -> None:
        cluster = Cluster()
        cluster.tell(bodies)
        cluster.plan()

    with structlog.testing.capture_logs():
        cpu.at_most(FEW_UNITS + EACH_UNITS * len(bodies), attacked, name)


@pytest.mark.parametrize("kind", ["PodGroup", "Pod that waits", "Pod that runs", "Job"])
def test_an_object_that_is_changed_all_the_time_makes_no_gang_of_others_due(kind: str) -> None:
    """A hundred changes a second are one look at the gang a cycle, whatever is changed."""
    cluster = Cluster()
    changing = {
        "PodGroup": attacks.group("g", 5),
        "Pod that waits": attacks.pod("a", "g"),
        "Pod that runs": attacks.pod("r", "g", nodeName="n0"),
        "Job": attacks.workload("Job", "batch/v1", attacks.job_spec(5)),
    }
    cluster.tell([*changing.values()])
    cluster.plan()

    def change() -> None:
        for number in range(100):
            body = attacks.annotated(changing[kind])
            body["metadata"]["annotations"]["x"] = str(number)
            body["metadata"]["resourceVersion"] = str(number + 1)
            body["status"] = {**body.get("status", {}), "conditions": condition(number)}
            cluster.tell([body])

    at_most(100 * A_CHANGE, calls_of(change))
    again = cluster.cache.snapshot(NOW + 1)

    assert {attacks.HERE} >= {gang.key.namespace for each in again.groups for gang in each.gangs}
    assert len(again.groups) <= 1


def condition(number: int) -> list[Body]:
    """Return conditions that are never twice the same."""
    return [{"type": "Ready", "status": "True", "reason": f"r{number}"}]
