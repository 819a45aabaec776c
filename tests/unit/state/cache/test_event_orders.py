"""Orders of events in which a decision was once lost, or a gang once started in part."""

from dataclasses import replace

from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.gangs import MatchPolicy
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.gangs.decisions import Decisions
from support import api_objects, builders
from support.in_memory_cluster import InMemoryCluster, group_body, job_body


def test_a_job_that_has_less_left_to_do_wakes_its_gang() -> None:
    cluster = InMemoryCluster()
    cluster.put(group_body("a", 4))
    body = job_body(parallelism=4, completions=4)
    cluster.put(body)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
    owners = [{**owner, "uid": body["metadata"]["uid"]}]
    for i in range(2):
        cluster.pod(f"w-{i}", "a", ownerReferences=owners)
    before = cluster.bound()

    cluster.put({**body, "status": {"succeeded": 2}})

    assert (set(), {"w-0", "w-1"}) == (before, cluster.bound())


def test_a_gang_that_becomes_whole_holds_back_no_other() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 3)
    cluster.cycle()
    # The gang is not known to be whole before the next look at it.
    cluster.put(group_body("a", 4, groups='["default/b"]'))
    cluster.gang("b", 1)
    cluster.cache.gang_queue.infos[builders.gang_key("a")].attempt.was_whole = False
    before = cluster.bound()

    cluster.put(group_body("a", 3, groups='["default/b"]'))
    bound = cluster.bound() | cluster.bound()

    assert (set(), {"b-0"}) == (before, bound)


def test_the_rest_of_a_gang_that_counts_only_waiting_members_is_finished() -> None:
    gang = builders.gang("a", pods=1, min_member=4, bound=3, match_policy=MatchPolicy.ONLY_WAITING)

    assert (4, 1) == (gang.quorum, replace(gang, partially_bound=True).quorum)


def test_what_the_api_server_refused_is_said_until_it_takes_it() -> None:
    cluster = InMemoryCluster()
    cluster.gang("a", 1)
    gang_queue = cluster.cache.gang_queue
    (group,) = cluster.cache.snapshot(cluster.now).groups
    gang = group.gangs[0]
    refusal = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=ApiAnswer("403: no"))

    Decisions(gang_queue).bind_failed(refusal, cluster.now)
    Decisions(gang_queue).placed(gang.key)
    while_refused = gang_queue.infos[gang.key].verdict.refusal
    Decisions(gang_queue).bound(gang.key)

    assert (refusal, None) == (while_refused, gang_queue.infos[gang.key].verdict.refusal)


def test_a_thousand_refusals_leave_one_retry_a_gang() -> None:
    cluster = InMemoryCluster(0)
    cluster.gang("a", 1)
    for _ in range(1000):
        cluster.cache.gang_queue.room_freed()
        cluster.cycle()

    assert len(cluster.cache.gang_queue.retries) <= 2


def test_the_deletion_of_a_node_that_is_there_again_is_not_believed() -> None:
    cluster = InMemoryCluster(0)
    cluster.put(api_objects.node_body("n1", metadata={"uid": "old"}))
    old = api_objects.node_body("n1", metadata={"uid": "old"})
    cluster.put(api_objects.node_body("n1", metadata={"uid": "new"}))

    cluster.delete(old)

    assert "n1" in cluster.cache.node_usage.table().rows


def test_null_means_absent() -> None:
    cluster = InMemoryCluster()
    body = job_body(parallelism=1)
    body["spec"]["template"]["metadata"]["creationTimestamp"] = None

    cluster.put(body)

    assert set() == cluster.event_handlers.broken
