"""Which waiting gangs are tried when quota is given back, and which must be tried together."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Strategy
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.queues import NONE, EvictionRules, Queue, QueueRef, Quota
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.queues.quota_waits import QuotaWaits, Started
from support import applying
from support.builders import gang, gang_key, gang_spec, node
from support.queue_builders import cluster_queue, cq_ref, our_queue, queue_ref, queue_set
from support.queue_clusters import CPU, QueueCluster, flavored

A, B, C = queue_ref("a"), queue_ref("b"), queue_ref("c")
QUOTA, TURN, ROOM = Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_TURN, Reason.UNSCHEDULABLE
KEEPS = EvictionRules(reclaim=EvictionPolicy.NEVER)
STRICT = Strategy.STRICT_FIFO


def refused(name: str, ref: QueueRef, reason: Reason = QUOTA) -> Refused:
    found = replace(gang(name), queue=ref)
    return Refused(found, reason, found.pending)


def waits_in(*queues: Queue, **waiting: tuple[QueueRef, Reason]) -> QuotaWaits:
    found_set = queue_set(queues)
    found = QuotaWaits(lambda: found_set)
    for name, (ref, reason) in waiting.items():
        found.moved(gang_key(name), None, refused(name, ref, reason))
    return found


def names(keys: Iterable[GangKey]) -> str:
    return "".join(sorted(str(key).rpartition("/")[2] for key in keys))


@pytest.mark.parametrize(
    ("freed", "helped"), [([A], "xyz"), ([cq_ref("c")], "u"), ([cq_ref("alone")], ""), ([], "")]
)
def test_only_the_trees_that_hold_less_are_woken(freed: list[QueueRef], helped: str) -> None:
    waits = waits_in(
        our_queue("a", 1),
        our_queue("b", 1),
        cluster_queue("c", "co"),
        cluster_queue("d", "co"),
        cluster_queue("alone"),
        x=(A, QUOTA),
        y=(B, TURN),
        z=(queue_ref("none"), Reason.JOB_LIMIT_REACHED),
        u=(cq_ref("d"), QUOTA),
        v=(B, ROOM),
        w=(B, Reason.QUOTA_EXCEEDED),
    )
    waits.freed(freed)

    assert (bool(helped), helped, "") == (
        waits.pending,
        names(waits.helped()),
        names(waits.helped()),
    )


def test_other_nodes_may_lift_what_could_never_run() -> None:
    waits = waits_in(our_queue("a", 1), x=(A, QUOTA), w=(A, Reason.QUOTA_EXCEEDED), v=(A, ROOM))
    waits.nodes_changed()

    assert "wx" == names(waits.helped())


@pytest.mark.parametrize(
    ("strategy", "evictions", "due", "together"),
    [
        (Strategy.BEST_EFFORT_FIFO, EvictionRules(), A, ""),
        (Strategy.BEST_EFFORT_FIFO, KEEPS, A, "x"),
        (Strategy.BEST_EFFORT_FIFO, KEEPS, B, "x"),
        (STRICT, EvictionRules(), A, "vx"),
        (STRICT, EvictionRules(), B, ""),
        (STRICT, KEEPS, B, "vx"),
    ],
)
def test_gangs_whose_order_decides_are_tried_together(
    strategy: Strategy, evictions: EvictionRules, due: QueueRef, together: str
) -> None:
    queues = our_queue("a", 1, strategy=strategy, evictions=evictions), our_queue("b", 1)
    invalid = Reason.INVALID_SPEC
    waits = waits_in(*queues, x=(A, QUOTA), v=(A, ROOM), i=(A, invalid), y=(B, QUOTA))

    assert together == names(waits.companions({due}, set()))


def test_in_strict_order_all_are_tried_together_but_those_that_nothing_free_helps() -> None:
    queues = [our_queue("a", 1, strategy=STRICT)]
    waits = waits_in(*queues, **{each.name: (A, each) for each in Reason})

    assert {
        *(Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_GANGS, Reason.POD_GROUP_NOT_FOUND),
        *(Reason.INVALID_SPEC, Reason.UNKNOWN_LAYER, Reason.UNSUPPORTED_FEATURE),
        *(Reason.QUEUE_NOT_FOUND, Reason.ADMISSION_DENIED, Reason.QUOTA_EXCEEDED),
        *(Reason.WAITING_FOR_CLAIMS, Reason.CLAIM_NOT_FOUND, Reason.INVALID_CLAIM),
    } == {each for each in Reason if gang_key(each.name) not in waits.companions({A}, set())}


@pytest.mark.parametrize(
    ("after", "placed", "helped"),
    [(None, False, "y"), (None, True, ""), (ROOM, False, "y"), (QUOTA, False, "")],
)
def test_a_gang_that_keeps_no_quota_any_more_lets_others_have_it(
    after: Reason | None,
    placed: bool,  # noqa: FBT001
    helped: str,
) -> None:
    queues = our_queue("a", 1, evictions=KEEPS), our_queue("b", 1)
    waits = waits_in(*queues, x=(A, QUOTA), y=(B, QUOTA))
    now = refused("x", A, after) if after else None
    waits.moved(gang_key("x"), refused("x", A), now, placed=placed)

    assert helped == names(waits.helped() - {gang_key("x")})


def test_a_circle_of_queues_has_one_root() -> None:
    queues = our_queue("a", 1, parent="b"), our_queue("b", 1, parent="a")
    waits = waits_in(*queues, x=(A, QUOTA))
    waits.freed([B])

    assert "x" == names(waits.helped())


def waiting_for_quota(**rules: Any) -> QueueCluster:
    """Return a cluster in which gang w waits for quota in queue b, beside a pod in queue a."""
    found = QueueCluster()
    found.declare(flavored("a", "default", **rules), flavored("b", "default"))
    found.put("p", "a", node="n-firm")
    found.gangs.upsert_gang_specs("x", "uid-w", [gang_spec("w", 1, uid="uid-w")])
    found.put("w-0", "b", gang="w")
    refuse_all(found)
    return found


def refuse_all(cluster: QueueCluster) -> list[str]:
    """Make a cycle in which every gang that is due is told to wait for quota; return these."""
    groups = cluster.cache.snapshot(0).groups
    for each in (one for group in groups for one in group.waiting):
        Decisions(cluster.gangs).refused(Refused(each, QUOTA, each.pending), 0)
    return [group.name for group in groups]


def keys_due(cluster: QueueCluster) -> list[GangKey]:
    """Return the gangs that are tried in the next cycle."""
    groups = cluster.cache.snapshot(0).groups
    return [gang.key for group in groups for gang in group.gangs]


def test_a_gang_is_tried_again_when_a_pod_of_its_tree_has_ended() -> None:
    found = waiting_for_quota()
    quiet = refuse_all(found)
    found.cache.delete_pod("uid-p")

    assert ([], ["default/w"]) == (quiet, refuse_all(found))


def test_a_gang_is_tried_again_when_one_is_gone_that_was_placed_since_the_last_snapshot() -> None:
    found = QueueCluster()
    found.declare(flavored("b", "default", quotas={CPU: Quota(1000, limit=1000)}))
    for name in ("p", "q"):
        found.put(name, "b")
    plan = schedule(found.cache.snapshot(0), PROFILES["binpack"])
    applying.take_in(found.cache, plan, 0, applying.WritesNothing())
    (starts,), (waits,) = plan.placed, plan.refused
    found.cache.delete_pod(starts.binds[0].pod.uid)

    assert (QUOTA, [waits.gang.key]) == (waits.reason, keys_due(found))


def test_a_gang_is_not_tried_when_a_pod_ends_that_no_queue_is_charged_for() -> None:
    found = waiting_for_quota()
    found.put("q", node="n-firm", scheduler="other")
    refuse_all(found)
    found.cache.delete_pod("uid-q")

    assert [] == refuse_all(found)


def test_a_gang_is_tried_again_when_a_node_comes() -> None:
    found = waiting_for_quota()
    found.cache.upsert(found.cache.node_store, node("n-new"))

    assert ["default/w"] == refuse_all(found)


def test_what_keeps_quota_is_tried_with_all_that_might_take_it() -> None:
    found = waiting_for_quota()
    found.declare(flavored("a", "default"), flavored("b", "default", evictions=KEEPS))
    refuse_all(found)
    found.put("n", "a")

    assert ["default/n", "default/w"] == sorted(refuse_all(found))


@pytest.mark.parametrize(
    ("rules", "woken"),
    [
        (EvictionRules(), "txy"),
        (EvictionRules(reclaim=EvictionPolicy.NEVER), ""),
        (
            EvictionRules(
                reclaim=EvictionPolicy.NEVER, while_borrowing=EvictionPolicy.LOWER_PRIORITY
            ),
            "txy",
        ),
    ],
)
def test_once_a_borrower_runs_all_are_tried_that_may_take_back_what_it_borrowed(
    rules: EvictionRules, woken: str
) -> None:
    waits = waits_in(
        replace(our_queue("a", 1), evictions=rules),
        our_queue("b", 1),
        x=(A, QUOTA),
        y=(A, ROOM),
        t=(A, TURN),
        m=(A, Reason.WAITING_FOR_MEMBERS),
        o=(B, QUOTA),
        n=(NONE, ROOM),
    )

    assert woken == names(waits.that_may_evict(Started({B: 0}, {B})))
    assert "" == names(waits.that_may_evict(Started({B: 0})))


@pytest.mark.parametrize(
    ("started", "woken"),
    [(Started({B: 0}, {B}), "y"), (Started({B: 0}, {B, C}), "xy"), (Started({A: -1}), "xy")],
)
def test_a_borrower_elsewhere_wakes_no_gang_without_a_right_to_take_anything_back(
    started: Started, woken: str
) -> None:
    queues = our_queue("a", 1, parent="t"), our_queue("c", 1, parent="t")
    waits = waits_in(our_queue("t", 2), *queues, our_queue("b", 1), x=(A, QUOTA), y=(A, ROOM))
    known = Plan(without_right=frozenset({gang_key("x")}))

    waits.take_in(known)
    waits.take_in(Plan())
    assert woken == names(waits.that_may_evict(started))

    waits.take_in(Plan(refused=(refused("x", A),)))
    assert "xy" == names(waits.that_may_evict(started))


def test_a_borrower_of_another_tree_gives_room_and_no_quota() -> None:
    found = replace(cluster_queue("c"), evictions=EvictionRules())
    waits = waits_in(our_queue("b", 1), found, u=(found.ref, QUOTA), v=(found.ref, ROOM))

    assert "v" == names(waits.that_may_evict(Started({B: 0}, {B})))


@pytest.mark.parametrize(
    ("rules", "reason", "may"),
    [
        (EvictionRules(), QUOTA, True),
        (EvictionRules(), ROOM, False),
        (KEEPS, QUOTA, True),
        (replace(KEEPS, within_queue=EvictionPolicy.NEVER), QUOTA, False),
    ],
)
def test_a_gang_may_get_by_evictions_what_time_alone_gives_free(
    rules: EvictionRules, reason: Reason, *, may: bool
) -> None:
    waits = waits_in(replace(our_queue("a", 1), evictions=rules))

    assert may == waits.may_take_back(refused("x", A, reason))


@pytest.mark.parametrize(
    ("policy", "priority", "woken"),
    [
        (EvictionPolicy.LOWER_PRIORITY, -1, "xy"),
        (EvictionPolicy.LOWER_PRIORITY, 0, ""),
        (EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY, 0, "xy"),
        (EvictionPolicy.ANY, 1, "xy"),
        (EvictionPolicy.NEVER, -1, ""),
    ],
)
def test_a_gang_that_runs_may_give_way_to_a_higher_one_of_its_queue(
    policy: EvictionPolicy, priority: int, woken: str
) -> None:
    rules = EvictionRules(within_queue=policy)
    waits = waits_in(
        replace(our_queue("a", 1), evictions=rules),
        our_queue("b", 1),
        x=(A, QUOTA),
        y=(A, ROOM),
        z=(B, QUOTA),
    )

    assert woken == names(waits.that_may_evict(Started({A: priority})))
