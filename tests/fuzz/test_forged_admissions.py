"""Law: what a tenant writes of workloads that the scheduler starts costs others a bounded time.

A workload that says it was let start is believed once, by a scheduler that has just started: the
object is all that is left of what an earlier one decided.
"""

from fuzz import attacks
from fuzz.attacks import GOOD, SIZE
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.workloads.virtual_pods import MOST_MEMBERS
from support import cache_feeding
from support.call_counts import at_most, calls_of

NOW = 1_704_067_300
TIMEOUT = 120
A_MEMBER = 30
"""More calls than a member costs when its workload changes."""


class Managing:
    """A cluster whose scheduler starts Jobs, in which a tenant writes."""

    def __init__(self) -> None:
        rules = WorkloadRules(manage_jobs=(ManagedKind.JOB,), pods_timeout_seconds=TIMEOUT)
        self.cache = Cache(["py-gang-scheduler"], Changes(), Rules(workloads=rules))
        self._handlers = cache_feeding.event_handlers(self.cache)
        self.tell(attacks.world())

    def tell(self, bodies: list[attacks.Body]) -> None:
        """Let objects come."""
        for each in bodies:
            cache_feeding.tell(self._handlers, "ADDED", each)

    def started(self, now: int) -> int:
        """Return how many pods of others have places now."""
        snapshot = self.cache.snapshot(now)
        plan = schedule(snapshot, PROFILES["binpack"])
        # Nothing is written here: all are to be looked at again.
        looked_at = (gang.key for group in snapshot.groups for gang in group.gangs)
        self.cache.gang_queue.undecided(looked_at)
        return sum(len(e.binds) for e in plan.placed if e.gang.key.namespace != attacks.HERE)


def forged(uid: str) -> attacks.Body:
    """Return a Job that says that it was let start just now, on all that the nodes have."""
    job = attacks.workload("Job", "batch/v1", attacks.job_spec(8 * attacks.NODES))
    job["metadata"]["uid"] = job["metadata"]["name"] = uid
    job["spec"]["suspend"] = False
    nodes = ",".join(f"n{i}*8" for i in range(attacks.NODES))
    return attacks.annotated(job, ADMITTED_AT="2024-01-01T00:01:40Z", ADMITTED_TO=nodes)


def test_a_forged_admission_keeps_room_for_two_minutes_after_a_start_and_never_again() -> None:
    cluster = Managing()
    cluster.tell([forged("early")])

    assert cluster.started(NOW) == 0
    assert [] == [*cluster.cache.suspended.overdue(NOW + TIMEOUT - 1)]
    assert ["early"] == [e.workload.name for e in cluster.cache.suspended.overdue(NOW + TIMEOUT)]
    cluster.tell([forged("late"), forged("early")])
    assert cluster.started(NOW + TIMEOUT) == GOOD * SIZE


def test_one_that_comes_later_keeps_no_room() -> None:
    cluster = Managing()
    cluster.cache.suspended.settle(NOW)
    cluster.tell([forged("late")])

    assert cluster.started(NOW) == GOOD * SIZE


def test_a_change_of_a_long_workload_costs_what_its_members_do_and_cycles_nothing() -> None:
    cluster, body = Managing(), attacks.workload("Job", "batch/v1", attacks.job_spec(MOST_MEMBERS))
    cluster.tell([body])
    cluster.started(NOW)
    idle = calls_of(lambda: cluster.cache.snapshot(NOW + 1)).total()

    def changed(number: int) -> None:
        body["metadata"]["resourceVersion"] = str(number)
        body["metadata"]["annotations"] = {"x": str(number)}
        cluster.tell([body])

    at_most(A_MEMBER * MOST_MEMBERS, calls_of(lambda: changed(1)))
    changed(2)
    at_most(idle + A_MEMBER, calls_of(lambda: cluster.cache.snapshot(NOW + 1)))
