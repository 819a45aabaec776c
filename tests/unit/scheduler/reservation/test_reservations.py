"""Which gang is promised a start, when that is, and which later gangs may go before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Plan, Reservation
from gang_scheduler.model.queues import EvictionRules, Product, Queue, ReservationRules
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.reservation import between_namespaces, promise, reservations
from gang_scheduler.scheduler.reservation.reservations import MOST_IN_VAIN
from support.builders import node
from support.plan_reading import gangs_placed, nominations_of, reasons, victims_of
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import Running, in_queue, promising, running, with_ends, world
from support.selector_builders import asking as near_others
from support.selector_builders import beside

NOW = 10_000
A, B = queue_ref("a"), queue_ref("b")
TEN = [node("n", cpu=10)]
ONE = [our_queue("root", 10_000), our_queue("a", 10_000)]


def lasting(gang: Gang, seconds: int | None) -> Gang:
    return replace(gang, duration=seconds)


def asking(name: str, cpu: int, seconds: int | None = None, **fields: Any) -> Gang:
    """Return a gang of one pod that waits for an instant, or since `created_at`."""
    queue = fields.pop("queue", A)
    fields.setdefault("created_at", NOW - 1)
    return lasting(in_queue(queue, name, cpu=cpu, **fields), seconds)


def full(
    gangs: Sequence[Gang],
    runs: Sequence[Running],
    ends: dict[str, int | None],
    *,
    queues: Sequence[Queue] = ONE,
    **fields: Any,
) -> Snapshot:
    nodes = fields.pop("nodes", TEN)
    return with_ends(world(queues, gangs, nodes, runs, taken_at=NOW, **fields), ends)


def promised(plan: Plan) -> list[tuple[str, int | None, str | None]]:
    return [
        (each.gangs[0].key.name, each.start, each.after.name if each.after else None)
        for each in plan.reservations
    ]


BIG = asking("big", 8, created_at=0)
RUNS = [running(A, "r", "n", cpu=6)]


def test_a_gang_that_waits_for_long_is_promised_the_end_that_makes_room() -> None:
    plan = promising(full([BIG], RUNS, {"r": NOW + 3600}))

    assert promised(plan) == [("big", NOW + 3600, "r")]
    assert reasons(plan) == {"big": "WaitingForQuota"}


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        (4_000, [("big", NOW + 1800, "first")]),
        # What was found so far: the last end of all. It is later than need be.
        (1, [("big", NOW + 3600, "second")]),
        (0, []),
    ],
)
def test_a_start_is_looked_for_until_all_looks_are_used_up(
    looks: int, expected: list[tuple[str, int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promise, "MOST_LOOKS", looks)
    runs = [running(A, "first", "n", cpu=6), running(A, "second", "n", cpu=2)]
    ends: dict[str, int | None] = {"first": NOW + 1800, "second": NOW + 3600}

    assert expected == promised(promising(full([BIG], runs, ends)))


@pytest.mark.parametrize(
    ("cpu", "seconds", "starts"),
    [
        (2, 1800, True),  # Gone before.
        (4, 3600, True),  # Gone at that moment.
        (4, 3601, False),
        (4, None, False),
        (2, None, True),  # Beside it.
        (4, 2 * 86_400, False),  # An end so far away is not believed.
    ],
)
def test_a_later_gang_starts_only_if_it_delays_nothing(
    cpu: int, seconds: int | None, *, starts: bool
) -> None:
    plan = promising(full([BIG, asking("later", cpu, seconds)], RUNS, {"r": NOW + 3600}))

    assert gangs_placed(plan) == (["later"] if starts else [])
    assert promised(plan) == [("big", NOW + 3600, "r")]
    if not starts:
        (refused,) = [each for each in plan.refused if each.gang.key.name == "later"]
        assert refused.reason == "WaitingForTurn"
        assert refused.cause == DelaysReserved("a", BIG.key, NOW + 3600)


def test_of_gangs_alike_the_first_that_ends_in_time_starts() -> None:
    gangs = [asking(f"g{n}", 4, end) for n, end in enumerate((None, 7200, 3600, 1800))]

    plan = promising(full([BIG, *gangs], RUNS, {"r": NOW + 3600}))

    assert gangs_placed(plan) == ["g2"]
    assert {"g0": "WaitingForTurn", "g1": "WaitingForTurn"}.items() <= reasons(plan).items()


def test_what_is_let_pass_for_its_end_is_held_to_it() -> None:
    gangs = [BIG, asking("short", 4, 1800), asking("thin", 2)]

    plan = promising(full([*gangs[:2]], RUNS, {"r": NOW + 3600}))
    beside = promising(full([gangs[0], gangs[2]], RUNS, {"r": NOW + 3600}))

    assert [each.backfilled for each in plan.placed] == [Backfilled(NOW + 1800, BIG.key)]
    assert [each.backfilled for each in beside.placed] == [None]


def test_two_later_gangs_share_what_is_left_beside_it() -> None:
    gangs = [BIG, asking("one", 2), asking("two", 2, created_at=NOW)]

    plan = promising(full(gangs, RUNS, {"r": NOW + 3600}))

    assert gangs_placed(plan) == ["one"]
    assert reasons(plan)["two"] == "WaitingForTurn"


def test_the_last_end_that_is_needed_counts() -> None:
    runs = [running(A, "r1", "n", cpu=4), running(A, "r2", "n", cpu=4)]
    gangs = [replace(BIG, created_at=0), asking("x", 2, 5400)]

    plan = promising(
        full(
            [asking("big", 10, created_at=0), gangs[1]], runs, {"r1": NOW + 3600, "r2": NOW + 7200}
        )
    )

    assert promised(plan) == [("big", NOW + 7200, "r2")]
    assert gangs_placed(plan) == ["x"]


def test_ends_that_are_not_known_come_last_the_oldest_start_first() -> None:
    runs = [
        running(A, "young", "n", cpu=4, created_at=500),
        running(A, "old", "n", cpu=4, created_at=400),
    ]

    plan = promising(full([asking("big", 5, created_at=0), asking("x", 2, 60)], runs, {}))

    assert promised(plan) == [("big", None, "old")]
    assert gangs_placed(plan) == ["x"]


def test_a_gang_gets_none_before_it_has_waited() -> None:
    gangs = [asking("big", 8, created_at=NOW - 299), asking("endless", 4)]

    plan = promising(full(gangs, RUNS, {"r": NOW + 3600}))

    assert (promised(plan), gangs_placed(plan)) == ([], ["endless"])


@pytest.mark.parametrize(
    ("rules", "number"),
    [
        (ReservationRules(after_seconds=NOW), 1),
        (ReservationRules(after_seconds=NOW + 1), 0),
        (ReservationRules(enabled=False), 0),
    ],
)
def test_a_queue_may_say_when_or_that_it_wants_none(rules: ReservationRules, number: int) -> None:
    queues = [ONE[0], replace(ONE[1], reservations=rules)]

    plan = promising(full([BIG], RUNS, {"r": NOW + 3600}, queues=queues))

    assert len(plan.reservations) == number


def test_a_gang_that_would_not_fit_the_empty_cluster_holds_nothing_up() -> None:
    nodes = [node("n", cpu=6), node("m", cpu=4)]
    gangs = [BIG, asking("endless", 4)]

    plan = promising(full(gangs, RUNS, {"r": NOW + 3600}, nodes=nodes))

    assert (promised(plan), gangs_placed(plan)) == ([], ["endless"])


def _hopeless(number: int, namespace: str) -> list[Gang]:
    """Return gangs of a pod that must be near pods that do not exist."""
    found = [asking(f"{namespace}-{n}", 1, created_at=n) for n in range(number)]
    return [
        replace(
            each,
            key=each.key._replace(namespace=namespace),
            pending=tuple(near_others(pod, beside("absent")) for pod in each.pending),
        )
        for each in found
    ]


LATER_BIG = asking("big", 8, queue=B, created_at=500)


def _busy(gangs: Sequence[Gang]) -> Snapshot:
    """Return a cluster that is too full for a big gang until NOW + 3600."""
    queues = [our_queue("root", 20_000), our_queue("a", 10_000), our_queue("b", 10_000)]
    runs = [running(B, "r", "n", cpu=6)]
    return full(gangs, runs, {"r": NOW + 3600}, queues=queues)


def test_gangs_for_which_there_is_no_start_keep_no_other_namespace_from_a_promise() -> None:
    plan = promising(_busy([*_hopeless(100, "evil"), LATER_BIG]))

    assert promised(plan) == [("big", NOW + 3600, "r")]
    assert MOST_IN_VAIN == len(plan.without_start)
    assert {"evil"} == {each.namespace for each in plan.without_start}


def test_nor_do_few_that_use_up_all_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for a gang of many different pods may take more looks than all searches have."""
    monkeypatch.setattr(reservations, "MOST_LOOKS", 4)
    monkeypatch.setattr(reservations, "LOOKS_OF_ONE", 2)

    plan = promising(_busy([*_hopeless(2, "evil"), LATER_BIG]))

    assert promised(plan) == [("big", NOW + 3600, "r")]
    assert 1 == len(plan.without_start)


def test_nor_do_those_of_many_namespaces_take_one_away() -> None:
    gangs = [gang for n in range(10) for gang in _hopeless(10, f"evil-{n}")]
    snapshot = _busy([*gangs, LATER_BIG])
    held = {LATER_BIG.key: Reservation((LATER_BIG,), NOW + 3600, None)}

    assert [] == promised(promising(snapshot))
    plan = promising(replace(snapshot, promised=held))
    assert promised(plan) == [("big", NOW + 3600, "r")]


@pytest.mark.parametrize(
    ("long", "expected"),
    [
        ([], ["e0"]),
        # The limit of one is for others, as long as they have had theirs for less than an hour.
        (["e0"], ["e0", "a0"]),
        (["e0", "a0"], ["e0", "a0", "b0"]),
        (["a0"], ["e0", "a0"]),
        ([f"{name}0" for name in "eabc"], ["e0", "a0", "b0", "c0"]),
    ],
)
def test_a_namespace_that_has_had_promises_for_long_takes_no_place_from_others(
    long: list[str], expected: list[str]
) -> None:
    """It has no more of them than others have. Three are given beside the limit at most."""
    gangs = [
        replace(gang, key=gang.key._replace(namespace=f"ns-{name}"))
        for name in "eabcd"
        for gang in (asking(f"{name}{n}", 9, created_at=n) for n in range(2))
    ]
    gangs = [replace(each, created_at=n) for n, each in enumerate(gangs)]
    snapshot = full(gangs, RUNS, {"r": NOW + 3600})
    keys = {each.key.name: each.key for each in gangs}

    plan = promising(replace(snapshot, promised_long=frozenset(keys[each] for each in long)))

    assert [each[0] for each in promised(plan)] == expected
    starts = [each.start for each in plan.reservations]
    assert starts[0] == NOW + 3600


@pytest.mark.parametrize(
    ("cpu", "is_long", "namespace", "starts"),
    [
        (9, True, "other", True),
        (9, False, "other", False),  # For an hour, whatever it waits for.
        (9, True, "default", False),  # The order inside a namespace stays.
        (8, True, "other", False),  # The end of the gang of another namespace is enough.
    ],
)
def test_a_gang_that_waits_for_its_own_namespace_holds_up_no_other_for_long(
    cpu: int, namespace: str, *, is_long: bool, starts: bool
) -> None:
    big = asking("big", cpu, created_at=0)
    later = asking("later", 2)
    later = replace(later, key=later.key._replace(namespace=namespace))
    mine = running(A, "mine", "n", cpu=2, started_at=5)
    other = running(A, "first", "n", cpu=6, started_at=1)
    foreign = replace(other.bound, gang=other.bound.gang._replace(namespace="other"))

    plan = promising(
        replace(
            full([big, later], [mine, other._replace(bound=foreign)], {}),
            promised_long=frozenset([big.key] if is_long else []),
        )
    )

    assert gangs_placed(plan) == (["later"] if starts else [])
    assert promised(plan)[0][:2] == ("big", None)


def test_a_resting_gang_gets_none() -> None:
    snapshot = full([BIG, asking("endless", 4)], RUNS, {"r": NOW + 3600})

    plan = promising(replace(snapshot, resting=frozenset([BIG.key])))

    assert (promised(plan), gangs_placed(plan)) == ([], ["endless"])


def test_a_gang_within_its_own_quota_passes_one_that_would_borrow() -> None:
    queues = [our_queue("root", 10_000), our_queue("a", 4000, borrowing=True), our_queue("b", 6000)]
    runs = [running(B, "r", "n", cpu=4)]
    gangs = [asking("big", 8, created_at=0), asking("small", 2, queue=B)]

    plan = promising(full(gangs, runs, {"r": NOW + 3600}, queues=queues))

    assert promised(plan) == [("big", NOW + 3600, "r")]
    assert gangs_placed(plan) == ["small"]


def test_it_is_placed_elsewhere_where_that_lets_another_one_pass() -> None:
    nodes = [node("n", cpu=8), node("m", cpu=8), node("o", cpu=4)]
    runs = [running(A, "r", "n", cpu=6), running(A, "s", "m", cpu=6), running(A, "t", "o", cpu=4)]
    queues = [our_queue("root", 40_000), our_queue("a", 40_000)]
    later = in_queue(A, "later", cpu=2, created_at=NOW - 1)

    plan = promising(
        full([BIG, later], runs, {"r": NOW + 60, "s": NOW + 60}, queues=queues, nodes=nodes)
    )

    assert promised(plan)[0][:2] == ("big", NOW + 60)
    assert gangs_placed(plan) == ["later"]


@pytest.mark.parametrize(("limit", "number"), [("MOST_TRIALS", 5), ("LOOKS_OF_TRIALS", 20)])
def test_gangs_of_a_namespace_use_up_no_trials_of_others(
    limit: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them would delay the promised gang, wherever that is placed; the last would not."""
    monkeypatch.setattr(between_namespaces, limit, number)
    nodes = [node(name, cpu=8, labels={"x": name, "y": "1"}) for name in "nm"]
    evil = [
        replace(gang, key=gang.key._replace(namespace="evil"))
        for gang in (_on_both(f"evil-{n}", memory=1000 + n) for n in range(8))
    ]
    gangs = [
        asking("big", 8, created_at=0, selector={"y": "1"}),
        *evil,
        asking("last", 2, selector={"x": "m"}, created_at=NOW - 1),
    ]
    plan = promising(
        full(
            gangs,
            [running(A, "r", "full", cpu=33)],
            {"r": NOW + 60},
            queues=[our_queue("root", 40_000), our_queue("a", 40_000)],
            nodes=[*nodes, node("full", cpu=33)],
        )
    )

    assert promised(plan) == [("big", NOW + 60, "r")]
    assert gangs_placed(plan) == ["last"]
    assert {reasons(plan)[f"evil-{n}"] for n in range(8)} == {"WaitingForTurn"}


def _on_both(name: str, **asks: Any) -> Gang:
    """Return a gang with a member on each of two nodes."""
    found = asking(name, 2, pods=2, created_at=NOW - 50, **asks)
    members = (
        replace(pod, pod_class=replace(pod.pod_class, node_selector=(("x", label),)))
        for pod, label in zip(found.pending, "nm", strict=True)
    )
    return replace(found, pending=tuple(members))


def test_a_later_gang_goes_where_it_delays_nothing() -> None:
    """By itself it would go to the fullest node, on which room is promised."""
    nodes = [node("n", cpu=8), node("o", cpu=6)]
    queues = [our_queue("root", 40_000), our_queue("a", 40_000)]

    plan = promising(
        full([BIG, asking("later", 2)], RUNS, {"r": NOW + 60}, queues=queues, nodes=nodes)
    )

    assert [bind.node for each in plan.placed for bind in each.binds] == ["o"]


def test_surplus_takes_no_room_that_is_promised() -> None:
    elastic = asking("elastic", 1, pods=5, min_member=1, created_at=NOW - 1)

    plan = promising(full([BIG, elastic], RUNS, {"r": NOW + 3600}))

    assert [len(each.binds) for each in plan.placed] == [2]
    assert promised(plan) == [("big", NOW + 3600, "r")]


def test_several_gangs_may_be_promised_a_start() -> None:
    gangs = [BIG, asking("second", 9, created_at=1), asking("third", 9, created_at=2)]
    gangs[0] = lasting(gangs[0], 600)

    plan = promising(full(gangs, RUNS, {"r": NOW + 3600}), number=2)

    assert promised(plan) == [("big", NOW + 3600, "r"), ("second", NOW + 4200, "big")]


def test_gangs_alike_have_their_turns_while_one_may_be_promised_a_start() -> None:
    gangs = [BIG, asking("second", 8, created_at=1)]

    plan = promising(full(gangs, RUNS, {"r": NOW + 3600}), number=2)

    assert [each[0] for each in promised(plan)] == ["big", "second"]


# Gangs that evict.

C = queue_ref("c")
NEVER = EvictionRules(reclaim=EvictionPolicy.NEVER)


def promised_room(a: int, b: int, **rules: Any) -> list[Queue]:
    """Return queues that are promised more than ten CPUs; `c` borrows, `b` takes back."""
    return [
        our_queue("root", (a + b) * 1000),
        our_queue("a", a * 1000, borrowing=True, evictions=NEVER),
        our_queue("b", b * 1000, **rules),
        our_queue("c", 0, borrowing=True, evictions=NEVER),
    ]


BORROWER = running(C, "borrower", "n", cpu=7)
ENDS: dict[str, int | None] = {"borrower": NOW + 3600}


def by_priority(
    gangs: Sequence[Gang], runs: Sequence[Running], queues: Sequence[Queue], **fields: Any
) -> Plan:
    """Return the plan where the oldest gang has its turn first, whatever queues have."""
    fairness = {Product.OURS: Fairness.PRIORITY}
    return promising(full(gangs, runs, ENDS, queues=queues, fairness=fairness, **fields))


@pytest.mark.parametrize(
    ("own", "seconds", "evicts"),
    [
        (8, None, False),
        (8, 3601, False),
        (8, 3600, True),  # Gone at that moment.
        (4, None, True),  # The big one borrows at its start: what others were promised comes first.
    ],
)
def test_a_later_gang_evicts_only_if_it_delays_nothing(
    own: int, seconds: int | None, *, evicts: bool
) -> None:
    queues = promised_room(own, 12 - own)
    gangs = [BIG, asking("reclaims", 4, seconds, queue=B)]

    plan = by_priority(gangs, [BORROWER], queues)

    assert victims_of(plan) == ({"borrower"} if evicts else set())
    assert reasons(plan)["reclaims"] == ("WaitingForVictims" if evicts else "WaitingForTurn")
    held = [Backfilled(NOW + seconds, BIG.key)] if seconds and evicts else [None] * evicts
    assert [each.backfilled for each in plan.preemptions] == held
    if not evicts:
        assert promised(plan) == [("big", NOW + 3600, "borrower")]
        (refused,) = [each for each in plan.refused if each.gang.key.name == "reclaims"]
        assert refused.cause == DelaysReserved("a", BIG.key, NOW + 3600)


@pytest.mark.parametrize(("cpu", "evicts"), [(2, True), (3, False)])
def test_so_does_one_of_the_same_queue(cpu: int, *, evicts: bool) -> None:
    queues = promised_room(12, 0)
    lower = running(A, "lower", "n", cpu=2, priority=-1)
    gangs = [BIG, asking("later", cpu)]

    plan = by_priority(gangs, [BORROWER, lower], queues)

    assert victims_of(plan) == ({"lower"} if evicts else set())
    assert promised(plan) == [("big", NOW + 3600, "borrower")]


def test_a_gang_in_the_place_of_one_of_its_queue_is_within_what_that_is_promised() -> None:
    """It counts what leaves: so it may pass one that would borrow."""
    queues = promised_room(4, 8, evictions=EvictionRules())
    lower = running(B, "lower", "n", cpu=7, priority=-1)
    gangs = [BIG, asking("higher", 8, queue=B)]

    plan = promising(full(gangs, [lower], {"lower": NOW + 3600}, queues=queues))

    assert victims_of(plan) == {"lower"}


@pytest.mark.parametrize(("cpu", "waits"), [(2, True), (3, False)])
def test_nor_does_a_later_gang_wait_for_room_that_is_left(cpu: int, *, waits: bool) -> None:
    """It would take it from the big one, which waits for more."""
    queues = promised_room(12, 0)
    runs = [BORROWER, running(C, "going", "n", cpu=3)]
    snapshot = full([BIG, asking("later", cpu)], runs, ENDS, queues=queues)
    bound = snapshot.bound_pods
    assert bound is not None
    stays, goes = bound.pods
    snapshot = replace(snapshot, bound_pods=replace(bound, pods=(stays,), leaving=(goes,)))

    expected = "WaitingForVictims" if waits else "WaitingForTurn"
    assert reasons(promising(snapshot))["later"] == expected


def apart(pods: int, cpu: int) -> Gang:
    return replace(asking("apart", cpu, pods=pods, min_member=pods, queue=B), each_alone=True)


def borrowers(*cpus: int) -> tuple[list[Running], dict[str, int | None]]:
    """Return gangs of these sizes that end together."""
    runs = [running(C, f"borrower-{n}", "n", cpu=cpu) for n, cpu in enumerate(cpus)]
    return runs, {each.bound.gang.name: NOW + 3600 for each in runs}


def test_gangs_of_one_count_those_of_them_that_evict_before() -> None:
    runs, ends = borrowers(5, 5)
    queues = promised_room(8, 6)

    plan = promising(full([BIG, apart(3, 1)], runs, ends, queues=queues))

    assert len(victims_of(plan)) == 1
    assert len(nominations_of(plan)) == 2


def test_gangs_of_one_count_those_of_them_that_are_placed() -> None:
    """What two of them lack beside the one that fits would delay the big one."""
    runs, ends = borrowers(4, 4)
    queues = promised_room(8, 4)

    plan = promising(full([BIG, apart(2, 2)], runs, ends, queues=queues))

    assert [len(each.binds) for each in plan.placed] == [1]
    assert victims_of(plan) == set()
    assert promised(plan) == [("big", NOW + 3600, "borrower-1")]
