"""Whatever queues there are: no plan is over a quota, and a queue that keeps its order keeps it.

What each queue may have is reckoned here again, without what the scheduler reckons with.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.api_words import Fairness, Strategy
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.queues import Queue, QueueRef
from gang_scheduler.model.snapshot import Snapshot
from support.builders import node
from support.queue_builders import our_queue, queue_ref
from support.queue_worlds import decide, in_queue, running, world

NAMES: Final = ("a", "b", "c")
WHOLE: Final = 24
NEVER: Final = {"QuotaExceeded", "AdmissionDenied"}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Snapshot, dict[str, tuple[int, bool]], Counter[str]]:
    """Draw queues below one root, what runs in them and what waits.

    Return with the snapshot what each is promised in CPUs and whether it borrows, and what is used.
    """
    terms = {name: (draw(st.integers(0, 8)), draw(st.booleans())) for name in NAMES}
    strategy = st.sampled_from(Strategy)
    queues: list[Queue] = [
        our_queue("root", WHOLE * 1000, fairness=draw(st.sampled_from(Fairness))),
        *(
            our_queue(name, cpus * 1000, borrowing=borrows, strategy=draw(strategy))
            for name, (cpus, borrows) in terms.items()
        ),
    ]
    nodes = [node(f"n{i}", cpu=draw(st.integers(1, 12))) for i in range(4)]
    used: Counter[str] = Counter()
    runs = []
    for i in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(NAMES))
        if used[name] < terms[name][0]:
            used[name] += 1
            runs.append(running(queue_ref(name), f"r{i}", f"n{i}", cpu=1))
    gangs = [
        in_queue(
            queue_ref(draw(st.sampled_from(NAMES))),
            f"g{i}",
            pods=(pods := draw(st.integers(1, 5))),
            min_member=draw(st.integers(1, pods)),
            cpu=draw(st.integers(1, 3)),
            priority=draw(st.integers(0, 2)),
            created_at=i,
        )
        for i in range(draw(st.integers(1, 8)))
    ]
    return world(queues, gangs, nodes, runs), terms, used


def charged(plan: Plan) -> Counter[str]:
    """Return the CPUs that a plan gives to each queue: bindings and nominations."""
    binds = [(placed.gang.queue, bind) for placed in plan.placed for bind in placed.binds]
    binds += [(made.gangs[0].queue, bind) for made in plan.preemptions for bind in made.nominations]
    found: Counter[str] = Counter()
    for queue, bind in binds:
        assert isinstance(queue, QueueRef)
        found[queue.name] += dict(bind.pod.pod_class.requests)["cpu"] // 1000
    return found


@given(worlds())
def test_no_plan_is_over_a_quota(
    drawn: tuple[Snapshot, dict[str, tuple[int, bool]], Counter[str]],
) -> None:
    snapshot, terms, used = drawn

    total = used + charged(decide(snapshot))

    assert sum(total.values()) <= WHOLE
    for name, (promised, borrows) in terms.items():
        assert total[name] <= (WHOLE if borrows else promised)


@given(worlds())
def test_a_queue_that_keeps_its_order_keeps_it(
    drawn: tuple[Snapshot, dict[str, tuple[int, bool]], Counter[str]],
) -> None:
    snapshot = drawn[0]
    plan = decide(snapshot)

    assert snapshot.queues is not None
    for queue in snapshot.queues.declared.queues:
        if queue.strategy is Strategy.STRICT_FIFO:
            in_line = sorted(
                (group for group in snapshot.groups if group.queue == queue.ref),
                key=lambda group: (-group.priority, group.created_at),
            )
            _holds([group.gangs[0].key.name for group in in_line], plan)


def _holds(in_line: Sequence[str], plan: Plan) -> None:
    waits = {each.gang.key.name: each for each in plan.refused if not each.left_over}
    behind = False
    for name in in_line:
        why = waits.get(name)
        if behind:
            assert why is not None
            assert why.reason.value in {*NEVER, "WaitingForTurn"}
        elif why is not None:
            behind = why.reason.value not in {*NEVER, "WaitingForVictims"}


@given(worlds())
def test_the_same_world_gives_the_same_plan(
    drawn: tuple[Snapshot, dict[str, tuple[int, bool]], Counter[str]],
) -> None:
    assert decide(drawn[0]) == decide(drawn[0])
