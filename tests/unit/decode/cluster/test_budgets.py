"""PodDisruptionBudgets: which pods they cover, and how many of those may go."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_DISRUPTION_BUDGETS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.protections import Budgets
from support import cache_feeding
from support.builders import NAMESPACE, SCHEDULER, pod

KEY = f"{NAMESPACE}/b"


def body(
    selector: Any = None, status: Any = None, generation: int = 1, **spec: Any
) -> dict[str, Any]:
    metadata = {"name": "b", "namespace": NAMESPACE, "uid": "uid-b", "generation": generation}
    found = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}
    found["spec"] = {"selector": selector, **spec}
    return {**found, "status": status} if status is not None else found


def expressions(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": None}, True),
        ({"matchLabels": {"app": "x"}}, True),
        ({"matchLabels": {"app": "x", "tier": "y"}}, False),
        (expressions("app", "In", "w", "x"), True),
        (expressions("app", "NotIn", "x"), False),
        (expressions("tier", "NotIn", "x"), True),
        (expressions("app", "Exists"), True),
        (expressions("app", "DoesNotExist"), False),
        (expressions("tier", "DoesNotExist"), True),
    ],
)
def test_a_selector_chooses_pods_by_their_labels(selector: Any, covers: bool) -> None:  # noqa: FBT001 - a row of a table.
    found = cluster.read_budget(body(selector))

    assert covers == found.covers(pod("p", labels={"app": "x"}))


def test_a_budget_covers_no_pod_of_another_namespace() -> None:
    assert not cluster.read_budget(body({})).covers(pod("p", namespace="team"))


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ({"observedGeneration": 2, "disruptionsAllowed": 3}, 3),
        ({"observedGeneration": 1, "disruptionsAllowed": 3}, 0),
        ({"disruptionsAllowed": 3}, 0),
        ({"observedGeneration": 2}, 0),
        (None, 0),
    ],
)
def test_only_a_status_of_the_present_spec_allows_anything(status: Any, allowed: int) -> None:
    assert allowed == cluster.read_budget(body({}, status, generation=2)).allowed


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": 2}, 1),
        ({"minAvailable": "50%"}, 1),
        ({"minAvailable": "100%"}, 0),
        ({"minAvailable": 9}, 0),
        ({"maxUnavailable": 2}, 1),
        ({"maxUnavailable": "50%"}, 1),
        ({"maxUnavailable": 9}, 3),
        ({}, 0),
    ],
)
def test_without_a_status_healthy_pods_are_counted_as_the_controller_does(
    spec: dict[str, Any], allowed: int
) -> None:
    running = [pod(f"p-{i}", node="n1", phase="Running") for i in range(3)]
    others = [pod("late"), pod("done", phase="Succeeded")]
    known = Budgets()

    known.upsert(cluster.read_uncounted(body({}, **spec)))

    assert {KEY: allowed} == known.allowed(lambda: [*running, *others])


def test_a_pod_that_is_being_deleted_is_expected_and_not_healthy() -> None:
    pods = [pod("a", node="n1", phase="Running"), pod("b", phase="Running", deleting=True)]
    known = Budgets()

    known.upsert(cluster.read_uncounted(body({}, maxUnavailable=1)))

    assert {KEY: 0} == known.allowed(lambda: pods)


@pytest.mark.parametrize(
    ("found", "field"),
    [
        (body({}, minAvailable="half"), "spec.minAvailable"),
        (body({}, maxUnavailable="-1%"), "spec.maxUnavailable"),
        (body(expressions("app", "Gt", "1")), "spec.selector.matchExpressions[0].operator"),
        (body({"matchLabels": 3}), "spec.selector.matchLabels"),
    ],
)
def test_a_budget_that_cannot_be_read_is_refused_by_field(found: Any, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        cluster.read_budget(found)

    assert field == caught.value.field


def test_budgets_come_and_go_by_the_watch_and_by_the_sweep() -> None:
    cache = Cache([SCHEDULER], Changes())
    event_handlers = cache_feeding.event_handlers(cache)
    seen = body({}, {"observedGeneration": 1, "disruptionsAllowed": 2})
    steps = []

    for event in ("ADDED", "DELETED", "ADDED"):
        event_handlers.of(POD_DISRUPTION_BUDGETS).take({"type": event, "object": seen})
        steps.append(sorted(cache_feeding.uids(cache, POD_DISRUPTION_BUDGETS)))
    cache_feeding.delete(cache, POD_DISRUPTION_BUDGETS, "uid-b")

    assert ([["uid-b"], [], ["uid-b"]], []) == (
        steps,
        list(cache_feeding.uids(cache, POD_DISRUPTION_BUDGETS)),
    )
