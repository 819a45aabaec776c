"""What a pod asks of others is read as kube-scheduler and the API server read it."""

from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods.pod_class import MATCHES_NONE
from gang_scheduler.model.selectors import (
    Affinity,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
    Spread,
)
from gang_scheduler.wire.pods import PREFERRED, REQUIRED
from support import decoded as pod
from support.api_objects import pod_body
from support.builders import NAMESPACE, requirement

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OWN = frozenset({NAMESPACE})
APP = {"matchLabels": {"app": "a"}}
IS_APP = requirement("app", "In", "a")


def pod_affinity(labels: dict[str, str] | None = None, **spec: Any) -> PodAffinity:
    found = pod.pod(pod_body(metadata={"labels": labels or {}}, **spec)).pod_class.pod_affinity
    assert found is not None
    return found


def term(selector: Any = APP, key: str = HOST, **fields: Any) -> dict[str, Any]:
    return {"labelSelector": selector, "topologyKey": key, **fields}


def anti(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def constraint(selector: Any = APP, **fields: Any) -> dict[str, Any]:
    given = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {**given, "labelSelector": selector, **fields}


def clause_of(asked: dict[str, Any], labels: dict[str, str] | None = None) -> Clause:
    (found,) = pod_affinity(labels, affinity=anti(asked)).anti
    (clause,) = found.selector.clauses
    return clause


def spread_of(asked: dict[str, Any], labels: dict[str, str] | None = None) -> Spread:
    (found,) = pod_affinity(labels, topologySpreadConstraints=[asked]).spread
    return found


@pytest.mark.parametrize("affinity", [{}, {"podAffinity": {}}, {"podAntiAffinity": {REQUIRED: []}}])
def test_most_pods_ask_nothing_of_others(affinity: dict[str, Any]) -> None:
    assert (
        pod.pod(pod_body(affinity=affinity, topologySpreadConstraints=[])).pod_class.pod_affinity
        is None
    )


def test_anti_affinity_is_read_term_by_term() -> None:
    found = pod_affinity(affinity=anti(term(), term(key=ZONE), term()))

    selector = PodSelector((Clause((IS_APP,), OWN),))
    assert PodAffinity(anti=(AffinityTerm(selector, HOST), AffinityTerm(selector, ZONE))) == found


def test_an_affinity_is_for_pods_that_all_terms_mean() -> None:
    other = term({"matchLabels": {"tier": "b"}}, ZONE)

    found = pod_affinity(affinity={"podAffinity": {REQUIRED: [term(), other]}})

    clauses = (Clause((IS_APP,), OWN), Clause((requirement("tier", "In", "b"),), OWN))
    assert PodAffinity(affinity=Affinity(PodSelector(clauses), (HOST, ZONE))) == found


def test_preferences_are_weighted_and_avoidance_is_negative() -> None:
    near = {"weight": 5, "podAffinityTerm": term()}
    far = {"weight": 7, "podAffinityTerm": term(key=ZONE)}

    found = pod_affinity(
        affinity={"podAffinity": {PREFERRED: [near]}, "podAntiAffinity": {PREFERRED: [far]}}
    )

    selector = PodSelector((Clause((IS_APP,), OWN),))
    expected = ((5, AffinityTerm(selector, HOST)), (-7, AffinityTerm(selector, ZONE)))
    assert PodAffinity(preferred=expected) == found


@pytest.mark.parametrize(
    ("fields", "names", "of_namespaces"),
    [
        ({}, {NAMESPACE}, None),
        ({"namespaces": [], "namespaceSelector": None}, {NAMESPACE}, None),
        ({"namespaces": ["x"]}, {"x"}, None),
        ({"namespaceSelector": {}}, set(), ()),
        ({"namespaceSelector": APP}, set(), (IS_APP,)),
        ({"namespaces": ["x"], "namespaceSelector": APP}, {"x"}, (IS_APP,)),
    ],
)
def test_namespaces_are_those_that_are_named_or_asked_for_or_the_own(
    fields: dict[str, Any], names: set[str], of_namespaces: Any
) -> None:
    assert Clause((IS_APP,), frozenset(names), of_namespaces) == clause_of(term(**fields))


def test_no_selector_means_no_pod_and_an_empty_one_every_pod() -> None:
    none, empty = clause_of(term(None, matchLabelKeys=["app"])), clause_of(term({}))

    assert (MATCHES_NONE, Clause((), OWN)) == (none, empty)
    assert (False, True) == (none.selects(NAMESPACE, {}, {}), empty.selects(NAMESPACE, {}, {}))


def test_label_keys_ask_for_the_own_labels() -> None:
    asked = term(APP, matchLabelKeys=["rev", "absent"], mismatchLabelKeys=["tenant"])

    found = clause_of(asked, {"rev": "1", "tenant": "t"})

    wanted = (IS_APP, requirement("rev", "In", "1"), requirement("tenant", "NotIn", "t"))
    assert Clause(wanted, OWN) == found


def test_what_the_api_server_has_merged_already_makes_no_other_class() -> None:
    merged = {**APP, "matchExpressions": [{"key": "rev", "operator": "In", "values": ["1"]}]}
    labels = {"rev": "1"}

    assert clause_of(term(APP, matchLabelKeys=["rev"]), labels) == clause_of(
        term(merged, matchLabelKeys=["rev"]), labels
    )


def test_selectors_that_mean_the_same_are_the_same_object() -> None:
    one = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]}
    other = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b", "a"]}]}

    first, second = (pod_affinity(affinity=anti(term(each))).anti[0] for each in (one, other))

    assert first.selector is second.selector


def test_a_spread_constraint_has_defaults() -> None:
    expected = Spread(
        ZONE,
        max_skew=1,
        selector=PodSelector((Clause((IS_APP,), OWN),), staying=True),
        min_domains=1,
        honours_affinity=True,
        honours_taints=False,
        hard=True,
    )
    assert expected == spread_of(constraint())


def test_a_spread_constraint_is_read() -> None:
    found = spread_of(
        constraint(
            maxSkew=3,
            minDomains=2,
            nodeAffinityPolicy="Ignore",
            nodeTaintsPolicy="Honor",
            whenUnsatisfiable="ScheduleAnyway",
            matchLabelKeys=["rev", "absent"],
        ),
        {"rev": "1"},
    )

    selector = PodSelector((Clause((IS_APP, requirement("rev", "In", "1")), OWN),), staying=True)
    assert Spread(ZONE, 3, selector, 2, False, True, False) == found  # noqa: FBT003 - its fields in order.


def test_a_spread_without_a_selector_counts_no_pod_and_an_empty_one_is_kept() -> None:
    none, empty = spread_of(constraint(None)), spread_of(constraint({}))

    expected = (
        PodSelector((MATCHES_NONE,), staying=True),
        PodSelector((Clause((), OWN),), staying=True),
    )
    assert expected == (none.selector, empty.selector)


EXPRESSION = "labelSelector.matchExpressions[0]"
FIRST_ANTI = f"spec.affinity.podAntiAffinity.{REQUIRED}[0]"
FIRST_NEAR = f"spec.affinity.podAffinity.{PREFERRED}[0]"
FIRST_NODE = f"spec.affinity.nodeAffinity.{PREFERRED}[0]"
FIRST_SPREAD = "spec.topologySpreadConstraints[0]"


def expression(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}


def near(weight: int, **fields: Any) -> dict[str, Any]:
    asked = [{"weight": weight, "podAffinityTerm": term(**fields)}]
    return {"affinity": {"podAffinity": {PREFERRED: asked}}}


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        (
            {"affinity": anti(term(expression("Gt", "1")))},
            f"{FIRST_ANTI}.{EXPRESSION}.operator",
            "Gt",
        ),
        (
            {"affinity": anti(term(expression("Like", "1")))},
            f"{FIRST_ANTI}.{EXPRESSION}.operator",
            "Like",
        ),
        ({"affinity": anti(term(expression("In")))}, f"{FIRST_ANTI}.{EXPRESSION}.values", []),
        (
            {"affinity": anti(term(expression("Exists", "x")))},
            f"{FIRST_ANTI}.{EXPRESSION}.values",
            ["x"],
        ),
        (
            {"affinity": anti(term(None, namespaceSelector=expression("Lt", "1")))},
            f"{FIRST_ANTI}.namespaceSelector.matchExpressions[0].operator",
            "Lt",
        ),
        ({"affinity": anti(term(key=""))}, f"{FIRST_ANTI}.topologyKey", None),
        (near(0), f"{FIRST_NEAR}.weight", 0),
        (near(1, key=""), f"{FIRST_NEAR}.podAffinityTerm.topologyKey", None),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": {}}]}}},
            f"{FIRST_NODE}.weight",
            101,
        ),
        (
            {"topologySpreadConstraints": [constraint(maxSkew=0)]},
            f"{FIRST_SPREAD}.maxSkew",
            0,
        ),
        (
            {"topologySpreadConstraints": [constraint(minDomains=0)]},
            f"{FIRST_SPREAD}.minDomains",
            0,
        ),
        (
            {"topologySpreadConstraints": [constraint(topologyKey="")]},
            f"{FIRST_SPREAD}.topologyKey",
            None,
        ),
        (
            {"topologySpreadConstraints": [constraint(nodeTaintsPolicy="Maybe")]},
            f"{FIRST_SPREAD}.nodeTaintsPolicy",
            "Maybe",
        ),
        (
            {"topologySpreadConstraints": [constraint(expression("Gt", "1"))]},
            f"{FIRST_SPREAD}.{EXPRESSION}.operator",
            "Gt",
        ),
    ],
)
def test_nonsense_is_named_by_field_and_value(spec: dict[str, Any], field: str, value: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        pod.pod(pod_body(**spec))

    assert (field, value) == (caught.value.field, caught.value.value)


def test_preferred_node_affinity_is_read() -> None:
    preference = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    asked = [{"weight": 5, "preference": preference}, {"weight": 1, "preference": {}}]

    found = pod.pod(pod_body(affinity={"nodeAffinity": {PREFERRED: asked}}))

    assert ((5, (requirement("zone", "In", "a"),)), (1, ())) == found.pod_class.preferred
