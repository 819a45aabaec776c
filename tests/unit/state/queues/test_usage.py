"""What queues are charged: which pods, to which queue, in which flavors."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api import kinds as api_kinds
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.queues.declared import LocalQueue
from gang_scheduler.model.api_words import CountOtherSchedulers
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.queues import FlavorResource, LocalQueueKey, ResourceGroup
from gang_scheduler.model.refs import GangName
from gang_scheduler.model.rules import QueueRules
from gang_scheduler.state import kinds
from gang_scheduler.state.queues import usage
from gang_scheduler.state.terminating import PATIENCE_SECONDS
from support.builders import gang_key, gang_spec, node, requirement
from support.call_counts import calls_of
from support.gang_queue_builders import NOW
from support.queue_builders import cluster_queue, cq_ref, queue_ref
from support.queue_clusters import CPU, FIRM, FLAVORS, OURS, SPOT, QueueCluster, flavored

ONE = 1000
A, B, NONE = map(queue_ref, ("a", "b", "none"))


def cluster(**rules: object) -> QueueCluster:
    found = QueueCluster(**rules)
    found.declare()
    return found


def test_without_queues_there_is_no_usage() -> None:
    found = QueueCluster()
    found.put("p", "a", node="n-spot")

    assert found.cache.snapshot(0).queues is None


def test_a_pod_on_a_node_is_charged_until_it_is_gone() -> None:
    found, seen = cluster(), []
    for state in ({}, {"node": "n-spot"}, {"node": "n-spot", "deleting": True}):
        found.put("p", "a", **state)
        seen.append(found.charged())
    found.cache.delete_pod("uid-p")
    seen.append(found.charged())

    assert [{}, {SPOT: ONE}, {SPOT: ONE}, {}] == seen


def test_a_pod_that_hangs_in_its_deletion_is_charged_no_more_and_gangs_are_tried_then() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot", deleting=True, gone_by=NOW)
    last = NOW + PATIENCE_SECONDS - 1

    before = found.usage(last).charged, found.cache.next_retry()
    after = found.usage(last + 1).charged, found.cache.next_retry()

    assert ({A: {SPOT: ONE}}, last + 1) == before
    assert ({}, None) == after
    assert 0 == found.cache.usage_differences()


def test_a_pod_that_is_given_less_time_to_end_is_charged_for_that() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot", deleting=True, gone_by=NOW + 100)
    found.usage(NOW)
    found.put("p", "a", node="n-spot", deleting=True, gone_by=NOW)

    assert {A: {SPOT: ONE}} == found.usage(NOW).charged
    assert NOW + PATIENCE_SECONDS == found.cache.next_retry()
    assert {} == found.usage(NOW + PATIENCE_SECONDS).charged


def test_a_pod_that_has_ended_is_not_charged() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    found.put("p", "a", node="n-spot", phase="Succeeded")

    assert {} == found.charged()


def test_a_pod_that_is_resized_is_charged_what_it_takes_room_for() -> None:
    made = cluster()
    made.put("a", "a", node="n-spot", cpu=1)
    assert {SPOT: 1000} == dict(made.usage().charged[queue_ref("a")])

    made.put("a", "a", node="n-spot", cpu=7)

    assert {SPOT: 7000} == dict(made.usage().charged[queue_ref("a")])


def test_a_nominated_pod_is_charged_on_its_node_and_a_waiting_one_is_asked_for() -> None:
    found = cluster()
    found.put("p", "a", nominated="n-firm")
    found.put("q", "a")
    found.put("r", "a", gated=True)

    usage = found.usage()

    assert ({A: {FIRM: ONE}}, {A: {SPOT: ONE}}) == (usage.charged, usage.asked)


@pytest.mark.parametrize(
    ("name", "expected"), [("n-spot", SPOT), ("n-firm", FIRM), ("n-gone", SPOT)]
)
def test_the_flavor_is_the_first_that_has_the_node(name: str, expected: FlavorResource) -> None:
    found = cluster()
    found.put("p", "a", node=name)

    assert {expected: ONE} == found.charged()


def test_what_a_binding_wrote_counts_and_no_label_that_is_changed() -> None:
    found = cluster()
    written = {OURS: "a", FLAVORS: '{"cpu": "firm"}'}
    found.put("p", "b", node="n-spot", annotations=written)

    assert ({FIRM: ONE}, {}) == (found.charged("a"), found.charged("b"))


@pytest.mark.parametrize(
    "pod",
    [
        {"annotations": {OURS: "theirs"}},
        {"labels": {OURS: "theirs"}},
        {"annotations": {OURS: "theirs"}, "queue": "a"},
        {"labels": {OURS: "theirs"}, "scheduler": "other"},
    ],
)
def test_a_queue_that_is_not_for_its_namespace_is_charged_for_no_pod(pod: dict[str, Any]) -> None:
    found = QueueCluster()
    selected = (requirement("team", "In", "x"),)
    found.declare(flavored("a", "firm"), flavored("theirs", "firm", namespaces=selected))
    found.put("p", node="n-firm", **pod)

    expected = {A: {FIRM: ONE}} if pod.get("queue") else {NONE: {FIRM: ONE}}
    assert ({} if pod.get("scheduler") else expected) == found.usage().charged


def test_where_a_queue_is_required_a_binding_in_none_counts_as_one_in_the_queue_of_its_gang() -> (
    None
):
    found = cluster(queues=QueueRules(require_queue=("default",)))
    found.put("p", "b", node="n-firm", annotations={OURS: "none"})

    assert {B: {CPU: ONE}} == found.usage().charged


@pytest.mark.parametrize("flavor", ["gone", "", "default"])
def test_a_flavor_that_the_queue_does_not_have_is_that_of_the_node(flavor: str) -> None:
    found = cluster()
    written = {OURS: "a", FLAVORS: json.dumps({"cpu": flavor})}
    found.put("p", "a", node="n-firm", annotations=written)

    assert {A: {FIRM: ONE}} == found.usage().charged


def test_what_was_decided_counts_until_the_binding_shows_it() -> None:
    found = cluster()
    waiting = found.put("p", "a")
    found.cache.assume(Bind(waiting, "n-spot", flavors=(("cpu", "firm"),)))
    assumed = found.charged()
    found.cache.forget("uid-p")
    forgotten = found.charged()
    found.cache.nominate([Bind(waiting, "n-spot", flavors=(("cpu", "firm"),))])
    nominated = found.charged()
    found.cache.clear_nominations(["uid-p"])

    assert [{FIRM: ONE}, {}, {FIRM: ONE}, {}] == [assumed, forgotten, nominated, found.charged()]


def test_a_pod_without_a_queue_is_charged_to_none_in_what_the_tree_governs() -> None:
    found = cluster()
    found.put("p", node="n-firm")

    assert {NONE: {CPU: ONE}} == found.usage().charged


def test_none_uses_the_flavor_of_its_node_where_no_flavor_is_of_every_node() -> None:
    found = QueueCluster()
    found.declare(flavored("a", "spot", "firm"))
    found.put("p", node="n-spot")

    assert {SPOT: ONE} == found.charged("none")


def test_pods_of_other_schedulers_count_where_their_label_says_so() -> None:
    found, blind = (
        cluster(),
        cluster(queues=QueueRules(count_other_schedulers=CountOtherSchedulers.NONE)),
    )
    for each in (found, blind):
        each.put("p", "b", node="n-firm", scheduler="other")
        each.put("q", node="n-firm", scheduler="other")
        each.put("r", "b", scheduler="other")

    usage = found.usage()
    assert ({B: {CPU: ONE}}, {}, {}) == (usage.charged, usage.asked, usage.running)
    assert {} == blind.usage().charged


def test_a_running_pod_is_in_the_queue_of_its_gang() -> None:
    found = cluster()
    found.put("p-0", "b", gang="p", node="n-firm")
    found.put("p-1", gang="p", node="n-firm")

    assert {B: {CPU: 2 * ONE}} == found.usage().charged


BINDING = {OURS: "a", FLAVORS: '{"cpu": "spot"}'}


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {}},
        {"annotations": {}, "queue": ""},
        {"annotations": {**BINDING, OURS: "b"}},
        {"annotations": {**BINDING, OURS: "theirs"}},
        {"annotations": {OURS: "a", FLAVORS: '{"cpu": "firm"}'}},
        {"queue": "b"},
        {"queue": "", "gang": "other"},
    ],
    ids=str,
)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_pod_that_was_bound_stays_charged_where_it_was_until_it_ends(
    change: dict[str, Any], *, restarts: bool
) -> None:
    bound: dict[str, Any] = {"queue": "a", "gang": "p", "node": "n-spot", "annotations": BINDING}
    found = cluster()
    waiting = found.put("p", "a", gang="p")
    if restarts:
        found.put("p", **bound)
    else:
        found.cache.assume(Bind(waiting, "n-spot", flavors=(("cpu", "spot"),)))
    before = found.usage().charged
    found.put("p", **bound)
    found.usage()
    found.put("p", **{**bound, **change})
    after = found.usage().charged
    found.put("p", **{**bound, **change}, phase="Succeeded")

    assert [{A: {SPOT: ONE}}, {A: {SPOT: ONE}}, {}] == [before, after, found.usage().charged]


def test_after_a_restart_the_queue_of_its_gang_counts_where_the_annotation_is_missing() -> None:
    found = cluster()
    spec = replace(gang_spec("p", 1), queue_request=naming.request_of({OURS: "b"}, {}))
    found.put("p-0", gang="p", node="n-firm")
    early = found.usage().charged
    found.gangs.upsert_gang_specs("x", "uid-p", [spec])
    known = found.usage().charged
    found.gangs.upsert_gang_specs("x", "uid-p", [replace(spec, queue_request=None)])

    assert [{NONE: {CPU: ONE}}, {B: {CPU: ONE}}] == [early, known]
    assert {B: {CPU: ONE}} == found.usage().charged


def test_of_a_pod_that_waits_no_binding_is_believed() -> None:
    found = cluster()
    forged = {OURS: "b", FLAVORS: '{"cpu": "firm"}'}
    found.put("p", "a", annotations=forged, nominated="n-spot")
    nominated = found.usage().charged
    waiting = found.put("p", "a", annotations=forged)
    found.cache.assume(Bind(waiting, "n-spot", flavors=(("cpu", "spot"),)))

    assert [{A: {SPOT: ONE}}] * 2 == [nominated, found.usage().charged]


def test_groups_that_hold_quota_are_counted_once() -> None:
    found = cluster()
    names = {"p": "q", "q": "p", "r": ""}
    for name, other in names.items():
        groups = (gang_key(other).called,) if other else ()
        spec = gang_spec(name, 1, uid=f"uid-{name}", groups=groups)
        found.gangs.upsert_gang_specs("x", f"uid-{name}", [spec])
        for number in range(2):
            found.put(f"{name}-{number}", "b", gang=name, node="n-firm")

    assert {B: 2} == found.usage().running


def test_when_queues_change_all_is_charged_anew() -> None:
    found = cluster()
    found.put("p", "a", node="n-firm")
    before = found.charged()
    found.declare(flavored("a", "firm"))
    after = found.charged()
    found.withdraw("a")
    gone = found.usage().charged
    found.withdraw("b")

    assert [{FIRM: ONE}, {FIRM: ONE}, {NONE: {CPU: ONE}}] == [before, after, gone]
    assert found.cache.snapshot(0).queues is None


def test_when_a_node_changes_its_pods_may_be_of_another_flavor() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    before = found.charged()
    found.cache.upsert(found.cache.node_store, node("n-spot", labels={"kind": "firm"}))

    assert [{SPOT: ONE}, {FIRM: ONE}] == [before, found.charged()]


def test_when_a_node_changes_what_is_reserved_there_may_be_of_another_flavor() -> None:
    found = cluster()
    found.put("p", "a")
    pod = found.cache.pod("uid-p")
    assert pod is not None
    found.cache.nominate([Bind(pod, "n-spot")])
    before = found.charged()
    found.cache.upsert(found.cache.node_store, node("n-spot", labels={"kind": "firm"}))

    assert [{SPOT: ONE}, {FIRM: ONE}] == [before, found.charged()]


def test_usage_is_the_same_object_while_it_is_equal() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    one = found.usage()
    found.put("p", "a", node="n-spot", started_at=5)

    assert one is found.usage()


def test_what_was_charged_in_the_past_counts_where_the_settings_say_so() -> None:
    found = cluster(queues=QueueRules(usage_half_life_seconds=60))
    found.put("p", "a", node="n-spot")
    found.cache.snapshot(0)

    state = found.cache.queue_state(60)

    assert state is not None
    assert {A: {"cpu": ONE // 2}} == state.usage.recent


def test_members_that_wait_are_asked_for_by_their_own_requests() -> None:
    found = cluster()
    found.put("p", "a", gang="g")
    found.put("q", "a", gang="g", cpu=2)

    assert {A: {SPOT: 3 * ONE}} == found.usage().asked


def test_members_that_wait_are_asked_for_in_the_queue_that_their_gang_names_now() -> None:
    found, asked = cluster(), []
    found.put("p", gang="g")
    for queue in ("a", "b"):
        spec = replace(gang_spec("g", 1), queue_request=naming.request_of({OURS: queue}, {}))
        found.gangs.upsert_gang_specs("x", "uid-g", [spec])
        asked.append(found.usage().asked)

    assert [{A: {SPOT: ONE}}, {B: {CPU: ONE}}] == asked


def test_a_difference_is_counted_and_put_right() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    found.usage()
    found.cache.queue_usage._tallies.put("uid-p", None)

    first, second = found.cache.usage_differences(), found.cache.usage_differences()

    assert (2, 0, {SPOT: ONE}) == (first, second, found.charged())


def test_a_group_that_forms_between_two_cycles_is_no_difference() -> None:
    found = cluster()
    found.gangs.upsert_gang_specs(
        "x", "uid-h", [gang_spec("h", uid="uid-h", groups=(GangName("default", "g"),))]
    )
    for name in "gh":
        found.put(f"p-{name}", "a", gang=name, node="n-spot")
    found.cache.snapshot(0)
    found.usage()

    found.gangs.upsert_gang_specs("x", "uid-g", [gang_spec("g", uid="uid-g")])

    assert 0 == found.cache.usage_differences()


def test_an_event_of_a_pod_costs_one_call_until_usage_is_asked_for() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    calls = calls_of(lambda: found.put("p", "a", node="n-spot", priority=3))

    assert 1 == calls["usage.QueueUsageStore.touch"]
    assert 0 == calls["usage.QueueUsageStore._entry"]


def test_a_snapshot_looks_only_at_pods_that_have_changed() -> None:
    found = cluster()
    for number in range(9):
        found.put(f"p-{number}", "a", node="n-spot")
    found.usage()
    found.put("p-0", "a", node="n-spot", phase="Succeeded")
    calls = calls_of(found.usage)

    assert 1 == calls["usage.QueueUsageStore._entry"]


def test_a_pod_that_says_the_same_is_not_looked_at() -> None:
    found = cluster()
    found.put("p", "a", node="n-spot")
    found.usage()
    calls = calls_of(lambda: (found.put("p", "a", node="n-spot"), found.usage()))

    assert 0 == calls["usage.QueueUsageStore.touch"] + calls["usage.QueueUsageStore._entry"]


def test_a_nomination_in_another_flavor_is_charged_there() -> None:
    found = cluster()
    waiting = found.put("p", "a")
    for flavor in ("spot", "firm"):
        found.cache.nominate([Bind(waiting, "n-spot", flavors=(("cpu", flavor),))])
        found.usage()

    assert {FIRM: ONE} == found.charged()


@pytest.mark.parametrize(("half_life", "counts"), [(60, True), (0, False)])
def test_local_queues_are_charged_where_they_decide_about_the_order(
    half_life: int,
    counts: bool,  # noqa: FBT001 - whether they are.
) -> None:
    found = QueueCluster(queues=QueueRules(usage_half_life_seconds=half_life))
    for name, by_usage in (("fair", True), ("plain", False)):
        queue = cluster_queue(name, nominal={SPOT: 8000})
        groups = (ResourceGroup(("cpu",), ("spot",)),)
        found.declare(replace(queue, uid=name, resource_groups=groups, by_local_usage=by_usage))
        of = LocalQueue(name, "default", f"l-{name}", queue.ref)
        found.cache.upsert(kinds.of(api_kinds.LOCAL_QUEUES[0]).store(found.cache), of)
    for name in ("fair", "plain"):
        labels = {"kueue.x-k8s.io/queue-name": f"l-{name}"}
        for number in range(2):
            found.put(f"{name}-{number}", node="n-spot", labels=labels)
        found.put(f"{name}-waits", labels=labels)

    usage = found.usage()

    assert {SPOT: 2 * ONE} == usage.charged[cq_ref("fair")]
    expected = {LocalQueueKey("default", "l-fair"): {SPOT: 2 * ONE}} if counts else {}
    assert expected == usage.local_charged


def test_before_usage_is_asked_for_gangs_that_are_gone_take_no_memory() -> None:
    """A replica that waits for the Lease asks for none for months."""
    found = cluster()
    for number in range(50):
        found.put(f"p-{number}", "a", node="n-spot")
        found.cache.delete_pod(f"uid-p-{number}")
    found.put("p", "a", node="n-spot")

    assert set() == found.gangs.queues.touched
    assert {SPOT: ONE} == found.charged()


def test_a_gang_that_changes_its_queue_after_usage_was_first_asked_for_is_charged_anew() -> None:
    found = cluster()
    for name in "pq":
        found.put(name, "a", nominated="n-spot")
    seen = [found.charged()]
    found.put("p", "b", nominated="n-spot")

    assert [{SPOT: 2 * ONE}, {SPOT: ONE}] == [*seen, found.charged()]


def test_amounts_of_few_distinct_requests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_KNOWN", 3)
    found = cluster()
    for cpu in range(1, 8):
        found.put("p", "a", node="n-spot", cpu=cpu)
        assert {SPOT: cpu * ONE} == found.charged()

    assert len(found.cache.queue_usage._known) <= 3
