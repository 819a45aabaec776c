"""Queues of Volcano."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import volcano
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.api_words import EvictionPolicy, StopPolicy, Strategy
from gang_scheduler.model.queues import (
    VOLCANO_ROOT,
    EvictionRules,
    FlavorResource,
    QueueKind,
    QueueRef,
    Quota,
    ResourceGroup,
)

CPU = FlavorResource("default", "cpu")


def read(name: str = "q", state: str = "", **spec: Any) -> DeclaredQueue:
    return volcano.queue(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name, "uid": "u"},
            "spec": spec,
            "status": {"state": state},
        }
    )


def test_a_queue_that_says_nothing_hangs_under_root_for_all_namespaces() -> None:
    queue = read().queue

    assert QueueRef(QueueKind.VOLCANO_QUEUE, "q") == queue.ref
    assert (VOLCANO_ROOT, 0) == (queue.parent, queue.order)
    assert () == queue.namespaces
    assert 1 == queue.weight
    lower, everything = EvictionPolicy.LOWER_PRIORITY, EvictionPolicy.ANY
    assert EvictionRules(lower, everything) == queue.evictions
    assert read("root").queue.parent is None


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"capability": {"cpu": 9}}, Quota(0, implied=True, limit=9000)),
        ({"deserved": {"cpu": "2"}}, Quota(2000, total=True)),
        ({"guarantee": {"resource": {"cpu": 1}}}, Quota(1000, implied=True, guaranteed=1000)),
        (
            {"deserved": {"cpu": 1}, "guarantee": {"resource": {"cpu": 3}}},
            Quota(3000, total=True, guaranteed=3000),
        ),
    ],
)
def test_capability_is_the_limit_deserved_what_is_promised(
    spec: dict[str, Any], expected: Quota
) -> None:
    queue = read(**spec).queue

    assert {CPU: expected} == queue.quotas
    assert (ResourceGroup(("cpu",), ("default",)),) == queue.resource_groups


def test_policies_are_read() -> None:
    queue = read(weight=4, priority=10, parent="p", dequeueStrategy="fifo").queue

    assert 4 == queue.weight
    assert (10, QueueRef(QueueKind.VOLCANO_QUEUE, "p")) == (queue.order, queue.parent)
    assert Strategy.STRICT_FIFO is queue.strategy
    assert Strategy.BEST_EFFORT_FIFO is read(dequeueStrategy="traverse").queue.strategy


@pytest.mark.parametrize(
    ("state", "stop"),
    [
        ("", StopPolicy.NONE),
        ("Open", StopPolicy.NONE),
        ("Closing", StopPolicy.HOLD),
        ("Closed", StopPolicy.HOLD),
    ],
)
def test_a_closed_queue_holds(state: str, stop: StopPolicy) -> None:
    assert stop is read(state=state).queue.stop


def test_what_has_no_effect_or_another_one_is_noted() -> None:
    notes = read(
        affinity={},
        extendClusters=[{}],
        deserved={"cpu": 1},
        guarantee={"resource": {"cpu": 3, "memory": 1}},
    ).notes

    assert (
        "spec.affinity has no effect",
        "spec.extendClusters has no effect",
        "spec.deserved.cpu is less than spec.guarantee.resource.cpu, which counts instead",
    ) == notes


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"capability": {"cpu": "-1"}}, 'spec.capability.cpu must be at least 0, not "-1"'),
        ({"deserved": {"cpu": "x"}}, 'spec.deserved.cpu must be a quantity, not "x"'),
        (
            {"guarantee": {"resource": {"cpu": -1}}},
            "spec.guarantee.resource.cpu must be at least 0, not -1",
        ),
        ({"dequeueStrategy": "lifo"}, "spec.dequeueStrategy must be one of fifo, traverse, not"),
        ({"weight": "1"}, 'spec.weight must be a whole number, not "1"'),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_value(
    spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        read(**spec)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    "spec", [{"weight": -1}, {"deserved": {"cpu": 2}, "capability": {"cpu": 1}}]
)
def test_what_makes_no_sense_is_the_problem_of_the_queue(spec: dict[str, Any]) -> None:
    assert read(**spec).queue.problem is not None
