"""PodDisruptionBudgets: which pods they cover, and how many of those may go."""

import random
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import POD_DISRUPTION_BUDGETS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster
from gang_scheduler.model.bound_pods import TOO_MANY_BUDGETS
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.protections import MOST_COMPARED, Budgets
from support import cache_feeding
from support.builders import NAMESPACE, SCHEDULER, pod
from support.call_counts import calls_of

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
        event_handlers.of(POD_DISRUPTION_BUDGETS).handle({"type": event, "object": seen})
        steps.append(sorted(cache_feeding.uids(cache, POD_DISRUPTION_BUDGETS)))
    cache_feeding.delete(cache, POD_DISRUPTION_BUDGETS, "uid-b")

    assert ([["uid-b"], [], ["uid-b"]], []) == (
        steps,
        list(cache_feeding.uids(cache, POD_DISRUPTION_BUDGETS)),
    )


def many(number: int, selector: Any) -> Budgets:
    """Return so many budgets with one selector, and one for app=x."""
    known = Budgets()
    found = body({"matchLabels": {"app": "x"}})
    known.upsert(cluster.read_budget(found))
    for i in range(number):
        other = body(selector)
        other["metadata"] |= {"name": f"b{i}", "uid": f"uid-b{i}"}
        known.upsert(cluster.read_budget(other))
    return known


@pytest.mark.parametrize(
    ("number", "selector", "expected"),
    [
        (15, {"matchLabels": {"app": "x"}}, 16),
        (16, {"matchLabels": {"app": "x"}}, TOO_MANY_BUDGETS),
        (63, expressions("tier", "Exists"), 1),
        (64, expressions("tier", "Exists"), TOO_MANY_BUDGETS),
        (1_000, {"matchLabels": {"app": "y"}}, 1),
    ],
)
def test_a_pod_under_too_many_budgets_counts_as_under_one_that_allows_nothing(
    number: int, selector: Any, expected: Any
) -> None:
    found = many(number, selector).of(pod("a", labels={"app": "x"}))

    assert expected == (len(found) if found != (TOO_MANY_BUDGETS,) else TOO_MANY_BUDGETS)


@pytest.mark.parametrize("selector", [{"matchLabels": {"app": "y"}}, {"matchLabels": {"app": "x"}}])
def test_however_many_budgets_there_are_few_are_compared_with_a_pod(selector: Any) -> None:
    known = many(1_000, selector)

    calls = calls_of(lambda: known.of(pod("a", labels={"app": "x"})))

    assert calls["cluster.DeclaredBudget.covers"] <= MOST_COMPARED


def test_a_budget_that_changes_its_selector_covers_other_pods() -> None:
    known = many(0, None)

    known.upsert(cluster.read_budget(body({"matchLabels": {"app": "y"}})))

    assert () == known.of(pod("a", labels={"app": "x"}))
    assert (KEY,) == known.of(pod("a", labels={"app": "y"}))
    known.delete("uid-b")
    assert () == known.of(pod("a", labels={"app": "y"}))


def test_budgets_without_a_selector_come_and_go_beside_others() -> None:
    known, covering = Budgets(), cluster.read_budget(body({"matchLabels": {"app": "x"}}))
    empty = [replace(cluster.read_budget(body()), uid=uid, name=uid) for uid in ("a", "c")]
    for each in (*empty, covering):
        known.upsert(each)

    assert (KEY,) == known.of(pod("p", labels={"app": "x"}))
    for uid in ("a", "uid-b", "c"):
        assert known.delete(uid) is not None
    known.upsert(empty[0])
    known.upsert(replace(covering, uid="a", name="b"))
    assert (KEY,) == known.of(pod("p", labels={"app": "x"}))


@pytest.mark.parametrize("order", [1, -1])
def test_a_pod_is_found_under_one_of_many_budgets_of_its_release(order: int) -> None:
    release = {"instance": "shop", "managed-by": "Helm"}
    made = [
        replace(
            cluster.read_budget(body({"matchLabels": {**release, "name": f"part-{number}"}})),
            uid=str(number),
            name=f"b{number}",
        )
        for number in range(1_000)
    ]
    known = Budgets()
    for each in made[::order]:
        known.upsert(each)

    assert (f"{NAMESPACE}/b7",) == known.of(pod("p", labels={**release, "name": "part-7"}))
    assert () == known.of(pod("p", labels={**release, "name": "none"}))


def test_a_new_status_does_not_find_all_budgets_anew() -> None:
    known = many(100, {"matchLabels": {"app": "y"}})
    asked, found = (
        pod("a", labels={"app": "x"}),
        cluster.read_budget(body({"matchLabels": {"app": "x"}})),
    )
    known.of(asked)

    def again() -> None:
        known.upsert(replace(found, allowed=5))
        assert (KEY,) == known.of(asked)

    assert 0 == calls_of(again)["protections._OfNamespace._indexed"]
    assert 5 == known.allowed(tuple)[KEY]


@pytest.mark.parametrize("seed", range(20))
def test_few_budgets_cover_what_their_selectors_say(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - for cases, not for secrets.
    known = Budgets()
    left: dict[str, cluster.DeclaredBudget] = {}
    for number in range(60):
        uid = f"uid-{rng.randrange(12)}"
        if rng.random() < 0.3:
            assert left.pop(uid, None) == known.delete(uid)
            continue
        operators = [rng.choice(["In", "In", "NotIn", "Exists"]) for _ in range(rng.randrange(4))]
        found = body({"matchExpressions": [random_expression(rng, each) for each in operators]})
        found["metadata"] |= {"name": f"b{number}", "uid": uid}
        if rng.random() < 0.2:
            del found["spec"]["selector"]
        left[uid] = cluster.read_budget(found)
        known.upsert(left[uid])
        labels = {key: rng.choice("xyz") for key in ("app", "tier", "zone") if rng.random() < 0.7}
        asked = pod("p", labels=labels)
        assert known.of(asked) == tuple(sorted(e.key for e in left.values() if e.covers(asked)))


def random_expression(rng: random.Random, operator: str) -> dict[str, Any]:
    values = [] if operator == "Exists" else rng.sample("xyz", rng.randrange(1, 3))
    return {"key": rng.choice(["app", "tier", "zone"]), "operator": operator, "values": values}
