"""Our Queues: what they declare, what cannot be read, and what makes no sense."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import ours
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.api_words import EvictionPolicy, Fairness, Operator, StopPolicy, Strategy
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.queues import (
    ROOT,
    AdmissionLimits,
    Aging,
    EvictionRules,
    FlavorResource,
    Fungibility,
    QueueKind,
    QueueRef,
    Quota,
    RecentUsage,
    ReservationRules,
    ResourceGroup,
    SavingRules,
)
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.selectors import Requirement

CPU, GPU = FlavorResource("default", "cpu"), FlavorResource("default", "gpu")


def read(name: str = "team", status: Any = None, **spec: Any) -> DeclaredQueue:
    return ours.queue(
        {
            "apiVersion": "py-gang-scheduler.io/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": name, "uid": "u", "generation": 3},
            "spec": spec,
            "status": status,
        }
    )


def text_of(problem: Problem | None) -> str:
    assert problem is not None
    assert isinstance(problem.cause, InvalidInput)
    return problem.cause.message


def test_a_queue_that_says_nothing_hangs_under_root_and_is_for_all_namespaces() -> None:
    declared = read()
    queue = declared.queue

    assert (QueueRef(QueueKind.QUEUE, "team"), "u", ROOT) == (queue.ref, queue.uid, queue.parent)
    assert ((), {}, ()) == (queue.namespaces, queue.quotas, queue.resource_groups)
    assert StopPolicy.NONE is queue.stop
    assert 1 == queue.weight
    assert (Strategy.BEST_EFFORT_FIFO, EvictionRules()) == (queue.strategy, queue.evictions)
    assert queue.problem is None
    assert (False, 3) == (declared.names_namespaces, declared.generation)


def test_soft_is_what_is_promised_hard_the_limit_and_nothing_is_borrowed_unasked() -> None:
    quota = {"soft": {"cpu": 4}, "hard": {"cpu": "6"}, "guaranteed": {"cpu": "1500m"}}

    assert {CPU: Quota(4000, total=True, guaranteed=1500, borrowing_limit=0, limit=6000)} == read(
        quota=quota
    ).queue.quotas


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ({"hard": {"gpu": 8}}, Quota(8, implied=True, borrowing_limit=0, limit=8)),
        ({"guaranteed": {"gpu": 2}}, Quota(2, implied=True, guaranteed=2, borrowing_limit=0)),
        (
            {"guaranteed": {"gpu": 2}, "hard": {"gpu": 8}},
            Quota(8, implied=True, guaranteed=2, borrowing_limit=0, limit=8),
        ),
    ],
)
def test_without_soft_the_limit_is_promised_else_what_is_guaranteed(
    quota: dict[str, Any], expected: Quota
) -> None:
    assert {GPU: expected} == read(quota=quota).queue.quotas


@pytest.mark.parametrize(
    ("borrowing", "limit", "ratio"),
    [
        ({}, 0, None),
        ({"enabled": False, "maxBorrowRatio": 2}, 0, None),
        ({"enabled": True}, None, None),
        ({"enabled": True, "maxBorrowRatio": 0.1}, None, Fraction(1, 10)),
    ],
)
def test_how_much_may_be_borrowed(
    borrowing: dict[str, Any], limit: int | None, ratio: Fraction | None
) -> None:
    queue = read(quota={"soft": {"cpu": 1}}, borrowing=borrowing).queue
    (quota,) = queue.quotas.values()
    assert queue.default_quota is not None

    assert (limit, ratio) == (quota.borrowing_limit, quota.borrowing_ratio)
    assert (limit, ratio) == (
        queue.default_quota.borrowing_limit,
        queue.default_quota.borrowing_ratio,
    )


def test_flavors_are_one_group_in_their_order() -> None:
    flavors = [
        {"name": "spot", "quota": {"soft": {"cpu": 1}}},
        {"name": "on-demand", "quota": {"soft": {"cpu": 2, "gpu": 1}}},
    ]
    queue = read(flavors=flavors).queue

    assert (ResourceGroup(("cpu", "gpu"), ("spot", "on-demand")),) == queue.resource_groups
    assert [1000, 2000, 1] == [each.nominal for each in queue.quotas.values()]


def test_policies_are_read() -> None:
    queue = read(
        parent="org",
        weight=2.5,
        strategy="StrictFIFO",
        stopPolicy="Hold",
        borrowing={"enabled": True, "allowedQueues": ["a", "b"]},
        preemption={
            "withinQueue": "Never",
            "reclaim": "LowerPriority",
            "whileBorrowing": {"policy": "LowerPriority", "maxPriorityThreshold": -3},
        },
        admissionControl={
            "maxJobs": 2,
            "maxGPUsPerJob": 8,
            "priorityRange": {"min": -1, "max": 10},
        },
        flavorFungibility={
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "MayStopSearch",
        },
        aging={"perHour": 20, "max": 100},
    ).queue

    assert (QueueRef(QueueKind.QUEUE, "org"), Fraction(5, 2)) == (queue.parent, queue.weight)
    assert (Strategy.STRICT_FIFO, StopPolicy.HOLD) == (queue.strategy, queue.stop)
    assert frozenset({"a", "b"}) == queue.lenders
    assert AdmissionLimits(2, 8, -1, 10) == queue.limits
    never, lower = EvictionPolicy.NEVER, EvictionPolicy.LOWER_PRIORITY
    assert EvictionRules(never, lower, lower, -3) == queue.evictions
    assert Fungibility(stop_when_borrowing=False, stop_when_evicting=True) == queue.fungibility
    assert Aging(20, 100) == queue.aging


def test_namespaces_are_chosen_by_their_labels() -> None:
    declared = read(namespaceSelector={"matchLabels": {"team": "a"}})

    assert (Requirement("team", Operator.IN, ("a",)),) == declared.queue.namespaces
    assert declared.names_namespaces


def test_root_has_no_parent_and_says_the_fairness() -> None:
    queue = read("root", fairness="DRF").queue

    assert (ROOT, None, Fairness.DRF) == (queue.ref, queue.parent, queue.fairness)
    assert queue.problem is None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"quota": {"soft": {"cpu": "-1"}}}, 'spec.quota.soft.cpu must be at least 0, not "-1"'),
        ({"quota": {"hard": {"cpu": "few"}}}, "spec.quota.hard.cpu must be a quantity"),
        ({"quota": {"soft": {"cpu": 1.5}}}, "spec.quota.soft.cpu must be a quantity"),
        ({"flavors": [{"quota": {}}]}, "spec.flavors[0].name is required"),
        (
            {"flavors": [{"name": "a"}, {"name": "a"}]},
            'spec.flavors[1].name must be unique (it is "a")',
        ),
        (
            {"flavors": [{"name": "a", "quota": {"soft": {"cpu": -2}}}]},
            "spec.flavors[0].quota.soft.cpu must be at least 0, not -2",
        ),
        ({"preemption": {"withinQueue": "Sometimes"}}, "or 'LowerOrNewerEqualPriority', not \"So"),
        ({"strategy": "FIFO"}, "spec.strategy must be one of 'BestEffortFIFO' or"),
        ({"fairness": "Fair"}, "spec.fairness must be one of"),
        ({"stopPolicy": True}, "spec.stopPolicy must be one of"),
        ({"weight": "2"}, 'spec.weight must be a number, not "2"'),
        ({"borrowing": {"enabled": "yes"}}, 'spec.borrowing.enabled must be true or false, not "y'),
        ({"borrowing": {"maxBorrowRatio": -1}}, "spec.borrowing.maxBorrowRatio must be at least 0"),
        ({"admissionControl": {"maxJobs": -1}}, "spec.admissionControl.maxJobs must be at least 0"),
        ({"preemption": {"minRuntime": "10"}}, "spec.preemption.minRuntime must match"),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.namespaceSelector.matchExpressions[0].values must not be empty",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_value(
    spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        read(**spec)

    assert words in str(refused.value)


def test_the_name_of_the_queue_for_all_others_is_reserved() -> None:
    with pytest.raises(InvalidField, match=r'metadata.name is reserved .* \(it is "none"\)'):
        read("none")


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("a", {"weight": -1}, "spec.weight must be at least 0, not -1"),
        (
            "a",
            {"quota": {"soft": {"cpu": 4}, "guaranteed": {"cpu": "6"}}},
            'spec.quota.guaranteed.cpu must be at most soft (4), not "6"',
        ),
        (
            "a",
            {"flavors": [{"name": "f", "quota": {"soft": {"cpu": 4}, "hard": {"cpu": 3}}}]},
            "spec.flavors[0].quota.soft.cpu must be at most hard (3), not 4",
        ),
        (
            "a",
            {"admissionControl": {"priorityRange": {"min": 10, "max": 1}}},
            "spec.admissionControl.priorityRange.min must be at most max (1), not 10",
        ),
        ("a", {"quota": {}, "flavors": [{"name": "f"}]}, "spec.quota must be absent where"),
        (
            "a",
            {"fairness": "DRS"},
            'spec.fairness may be set only in the Queue named root (it is "DRS")',
        ),
        ("root", {"parent": "a"}, 'spec.parent must be absent in the Queue named root (it is "a")'),
    ],
)
def test_what_makes_no_sense_is_the_problem_of_the_queue(
    name: str, spec: dict[str, Any], words: str
) -> None:
    assert words in text_of(read(name, **spec).queue.problem)


def test_gpus_are_not_counted_twice() -> None:
    both = read(quota={"soft": {"gpu": 1, "example.com/gpu": 1}}).queue

    assert ours.gpus_twice(both, ["other.com/gpu"]) is None
    assert "spec.quota must not name both gpu and example.com/gpu: gpu counts it, too" == text_of(
        ours.gpus_twice(both, ["example.com/gpu"])
    )


def test_terms_of_borrowing_are_noted_where_it_is_not_enabled() -> None:
    terms = {"maxBorrowRatio": 0.5, "allowedQueues": ["b"]}

    assert (
        "spec.borrowing.maxBorrowRatio has no effect while spec.borrowing.enabled is not true",
        "spec.borrowing.allowedQueues has no effect while spec.borrowing.enabled is not true",
    ) == read(borrowing=terms).notes
    assert () == read(borrowing={**terms, "enabled": True}).notes


def test_vetoes_protect_the_gangs_of_a_queue() -> None:
    preemption = {
        "allowPreemption": False,
        "allowPreemptFrom": ["b", "c"],
        "fence": True,
        "minRuntime": "1h30m0.5s",
    }

    rules = read(preemption=preemption).queue.evictions

    assert (False, frozenset({"b", "c"}), True, 5401) == (
        *(rules.may_lose, rules.may_lose_to, rules.fence, rules.min_runtime),
    )


def test_fields_without_effect_are_noted() -> None:
    note = "spec.borrowing.allowedQueues has no effect while spec.borrowing.enabled is not true"
    assert (note,) == read(borrowing={"allowedQueues": ["b"]}).notes


def test_what_gangs_get_to_save_their_work() -> None:
    spec: dict[str, Any] = {"preemption": {"gracePeriod": "1m30s"}, "checkpointTimeout": "2m"}

    assert SavingRules(timeout=120, grace=90) == read(**spec).queue.saving
    assert SavingRules() == read(preemption={"fence": True}).queue.saving


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (lambda text: {"preemption": {"minRuntime": text}}, "spec.preemption.minRuntime"),
        (lambda text: {"preemption": {"gracePeriod": text}}, "spec.preemption.gracePeriod"),
        (lambda text: {"checkpointTimeout": text}, "spec.checkpointTimeout"),
        (lambda text: {"backfill": {"reservationAfter": text}}, "spec.backfill.reservationAfter"),
    ],
)
@pytest.mark.parametrize("text", ["90", "abc", f"{'9' * 20}h"])
def test_a_duration_that_makes_no_sense_is_named_with_its_field(
    spec: Callable[[str], dict[str, Any]], field: str, text: str
) -> None:
    with pytest.raises(InvalidField, match=f'{field} must .*, not "{text}"'):
        read(**spec(text))


@pytest.mark.parametrize(
    ("status", "recent"),
    [
        (None, None),
        ("nonsense", None),
        ({"recentUsage": {"at": "soon"}}, None),
        (
            {"recentUsage": {"at": "1970-01-01T00:01:00Z", "amounts": {"cpu": "2"}}},
            RecentUsage(60, {"cpu": 2000}),
        ),
    ],
)
def test_a_status_never_makes_a_queue_unreadable(
    status: object, recent: RecentUsage | None
) -> None:
    assert recent == read(status=status).recent


@pytest.mark.parametrize(
    ("backfill", "expected"),
    [
        ({}, ReservationRules()),
        ({"reservationAfter": "90s"}, ReservationRules(after_seconds=90)),
        ({"reservationAfter": "0s"}, ReservationRules(after_seconds=0)),
        ({"enabled": False}, ReservationRules(enabled=False)),
    ],
)
def test_when_gangs_are_promised_a_start(
    backfill: dict[str, Any], expected: ReservationRules
) -> None:
    assert read(backfill=backfill).queue.reservations == expected
