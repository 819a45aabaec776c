"""ClusterQueues and Cohorts in every version."""

from fractions import Fraction
from typing import Any

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.queues import kueue
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.api_words import (
    EvictionPolicy,
    FlavorPreference,
    Operator,
    StopPolicy,
    Strategy,
)
from gang_scheduler.model.queues import (
    EvictionRules,
    FlavorResource,
    Fungibility,
    QueueKind,
    QueueRef,
    Quota,
    ResourceGroup,
)
from gang_scheduler.model.selectors import Requirement

NEVER = EvictionPolicy.NEVER


def body(kind: str, version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "q", "uid": "u"},
        "spec": spec,
    }


def read(version: str = "v1beta2", **spec: Any) -> DeclaredQueue:
    return kueue.cluster_queue(body("ClusterQueue", version, **spec))


def group(resource: str = "cpu", *flavors: str, **quota: Any) -> dict[str, Any]:
    resources = [{"name": resource, **quota}]
    return {
        "coveredResources": [resource],
        "flavors": [{"name": each, "resources": resources} for each in flavors or ("default",)],
    }


def test_a_cluster_queue_that_says_nothing_is_for_no_namespace_and_evicts_nothing() -> None:
    queue = read().queue

    assert QueueRef(QueueKind.CLUSTER_QUEUE, "q") == queue.ref
    assert (None, None) == (queue.parent, queue.namespaces)
    assert 1 == queue.weight
    assert EvictionRules(NEVER, NEVER, NEVER) == queue.evictions
    assert Fungibility() == queue.fungibility
    assert (Strategy.BEST_EFFORT_FIFO, StopPolicy.NONE) == (queue.strategy, queue.stop)


@pytest.mark.parametrize(
    ("version", "spec", "parent"),
    [
        ("v1beta2", {"cohortName": "c"}, "c"),
        ("v1beta1", {"cohort": "c"}, "c"),
        ("v1beta2", {"cohort": "c"}, None),
        ("v1beta1", {"cohortName": "c"}, None),
    ],
)
def test_each_version_has_its_own_name_for_the_cohort(
    version: str, spec: dict[str, Any], parent: str | None
) -> None:
    expected = None if parent is None else QueueRef(QueueKind.COHORT, parent)

    assert expected == read(version, **spec).queue.parent


def test_quotas_are_by_flavor_and_resource() -> None:
    queue = read(
        resourceGroups=[
            group("cpu", "a", "b", nominalQuota="2", borrowingLimit=1),
            group("memory", "c", nominalQuota="1Gi", lendingLimit="512Mi"),
        ]
    ).queue

    assert {
        FlavorResource("a", "cpu"): Quota(2000, borrowing_limit=1000),
        FlavorResource("b", "cpu"): Quota(2000, borrowing_limit=1000),
        FlavorResource("c", "memory"): Quota(2**30, lending_limit=2**29),
    } == queue.quotas
    assert (
        ResourceGroup(("cpu",), ("a", "b")),
        ResourceGroup(("memory",), ("c",)),
    ) == queue.resource_groups


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, ()),
        ({"matchLabels": {"dep": "eng"}}, (Requirement("dep", Operator.IN, ("eng",)),)),
    ],
)
def test_an_empty_selector_is_all_namespaces(
    selector: dict[str, Any], expected: tuple[Requirement, ...]
) -> None:
    assert expected == read(namespaceSelector=selector).queue.namespaces


def test_policies_are_read() -> None:
    queue = read(
        queueingStrategy="StrictFIFO",
        stopPolicy="HoldAndDrain",
        fairSharing={"weight": "0.1"},
        preemption={
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": -3},
        },
        flavorFungibility={
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"},
    ).queue

    assert (Strategy.STRICT_FIFO, StopPolicy.HOLD_AND_DRAIN) == (queue.strategy, queue.stop)
    assert Fraction(1, 10) == queue.weight
    newer, lower = EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY, EvictionPolicy.LOWER_PRIORITY
    assert EvictionRules(newer, EvictionPolicy.ANY, lower, -3) == queue.evictions
    evicting = FlavorPreference.PREEMPTION_OVER_BORROWING
    assert Fungibility(stop_when_borrowing=False, preference=evicting) == queue.fungibility
    assert queue.by_local_usage


def test_the_search_stops_by_words_of_both_versions() -> None:
    former = read(
        "v1beta1", flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
    )
    latter = read(
        flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}
    )

    expected = Fungibility(stop_when_borrowing=True, stop_when_evicting=True)
    assert expected == former.queue.fungibility == latter.queue.fungibility


def test_checks_are_for_all_flavors_or_for_some() -> None:
    rules = [{"name": "a"}, {"name": "b", "onFlavors": ["spot"]}]
    latter = read(admissionChecksStrategy={"admissionChecks": rules}).queue

    assert (("a",), {"spot": ("b",)}) == (latter.checks, latter.flavor_checks)
    assert ("a", "b") == read("v1beta1", admissionChecks=["a", "b"]).queue.checks


def test_a_field_without_effect_is_noted() -> None:
    assert ("spec.concurrentAdmissionPolicy has no effect",) == read(
        concurrentAdmissionPolicy={"migration": {}}
    ).notes
    assert () == read().notes


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"resourceGroups": [group(nominalQuota="-1")]},
            'flavors[0].resources[0].nominalQuota must be at least 0, not "-1"',
        ),
        (
            {"resourceGroups": [group(nominalQuota=1, lendingLimit="x")]},
            "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit must be a quantity",
        ),
        (
            {"resourceGroups": [{**group(), "coveredResources": ["cpu", "memory"]}]},
            "spec.resourceGroups[0].flavors[0].resources must be the covered resources, cpu, ",
        ),
        (
            {"resourceGroups": [group(), group()]},
            'spec.resourceGroups[1].flavors[0].resources[0].name must be unique (it is "cpu")',
        ),
        (
            {"resourceGroups": [{"flavors": [{}]}]},
            "spec.resourceGroups[0].flavors[0].name is required",
        ),
        ({"queueingStrategy": "FIFO"}, 'must be one of BestEffortFIFO, StrictFIFO, not "FIFO"'),
        ({"stopPolicy": "Stop"}, 'spec.stopPolicy must be one of None, Hold, HoldAndDrain, not "S'),
        (
            {"preemption": {"withinClusterQueue": "Any"}},
            "spec.preemption.withinClusterQueue must be one of Never, LowerPriority, LowerOrNewer",
        ),
        (
            {"preemption": {"borrowWithinCohort": {"policy": "Any"}}},
            "spec.preemption.borrowWithinCohort.policy must be one of Never, LowerPriority",
        ),
        ({"flavorFungibility": {"whenCanBorrow": "Preempt"}}, "spec.flavorFungibility.whenCanBorr"),
        (
            {"flavorFungibility": {"preference": "None"}},
            "spec.flavorFungibility.preference must be",
        ),
        (
            {"admissionScope": {"admissionMode": "On"}},
            "spec.admissionScope.admissionMode must be o",
        ),
        ({"fairSharing": {"weight": "much"}}, 'spec.fairSharing.weight must be a number, not "muc'),
        ({"cohortName": 1}, "spec.cohortName must be a string, not 1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_field_and_value(
    spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        read(**spec)

    assert words in str(refused.value)


def test_a_weight_below_0_makes_no_sense() -> None:
    assert read(fairSharing={"weight": -1}).queue.problem is not None


@pytest.mark.parametrize(
    ("version", "field"),
    [("v1beta2", "parentName"), ("v1beta1", "parentName"), ("v1alpha1", "parent")],
)
def test_a_cohort_has_a_parent_and_a_pool(version: str, field: str) -> None:
    spec = {field: "top", "resourceGroups": [group(nominalQuota=2)]}
    queue = kueue.cohort(body("Cohort", version, **spec)).queue

    assert QueueRef(QueueKind.COHORT, "q") == queue.ref
    assert QueueRef(QueueKind.COHORT, "top") == queue.parent
    assert {FlavorResource("default", "cpu"): Quota(2000)} == queue.quotas
    assert () == queue.resource_groups
