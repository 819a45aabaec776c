"""What decisions depend on, made of the settings: for `run` and for `simulate` by the same code."""

from dataclasses import replace
from fractions import Fraction

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.model.failures import FailureRules
from gang_scheduler.model.queues import Aging, Product, Retry
from gang_scheduler.model.resources import RequestRules, Transformation, amount_of, parse_quantity
from gang_scheduler.scheduler.policies import PreemptionRules, Profile, QueueRules, SpareNodes
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.values import (
    CountOtherSchedulers,
    GangKind,
    QueueNamespaces,
    QuotaOf,
    TransformationStrategy,
)
from gang_scheduler.state.cache import Cache, CacheRules
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.evictable_pods import Rules
from gang_scheduler.state.gangs.gang_queue import MOST_CHECKPOINTS
from gang_scheduler.state.provisioning import ProvisioningSettings
from gang_scheduler.state.queues import declared
from gang_scheduler.state.queues.names import NamingRules
from gang_scheduler.state.queues.reservations import ReservationSettings
from gang_scheduler.state.queues.usage import ChargeRules
from gang_scheduler.state.suspended.workloads import ManageRules
from gang_scheduler.state.terminating import Ends
from gang_scheduler.workloads import table


def cache(policy: Policy, changes: Changes, *, most_checkpoints: int = MOST_CHECKPOINTS) -> Cache:
    """Return an empty cache."""
    return Cache(policy.scheduler_names, changes, _cache_rules(policy, most_checkpoints))


def _cache_rules(policy: Policy, most_checkpoints: int) -> CacheRules:
    return CacheRules(
        timeout_seconds=policy.schedule_timeout_seconds,
        evictions=_rules(policy),
        queues=_queue_rules(policy),
        naming=NamingRules(policy.default_queue, frozenset(policy.require_queue)),
        charges=ChargeRules(
            others=policy.count_other_schedulers is CountOtherSchedulers.LABELLED,
            half_life_seconds=policy.usage_half_life_seconds,
        ),
        reservations=ReservationSettings(
            number=policy.reservations,
            after_seconds=policy.reservation_after_seconds,
            timeout_seconds=policy.reservation_timeout_seconds,
            enforce_backfill=policy.enforce_backfill,
            hides_names=policy.hide_foreign_names,
        ),
        provisioning=ProvisioningSettings(
            enabled=policy.provisioning_requests,
            retry=Retry(policy.provisioning_retries, policy.provisioning_backoff_seconds),
        ),
        failures=FailureRules.of(policy.node_failure_seconds, policy.node_failure_taints),
        managed=ManageRules(
            frozenset(each.value for each in policy.manage_jobs), policy.pods_timeout_seconds
        ),
        train_jobs=GangKind.TRAIN_JOB in policy.gang_kinds,
        most_checkpoints=most_checkpoints,
    )


def profile(policy: Policy) -> Profile:
    """Return the policies, with what the settings say of making room."""
    rules = PreemptionRules(
        min_difference=policy.min_priority_difference,
        most_victims=policy.max_victims,
        # The API server would refuse the eviction, and void the plan.
        within_budgets=policy.use_eviction_api,
    )
    queues = QueueRules(
        aging=Aging(policy.aging_per_hour, policy.aging_max),
        reservation_after_seconds=policy.reservation_after_seconds,
        fair_strategies=policy.fair_strategies,
        max_min_runtime_seconds=policy.max_min_runtime_seconds,
        reservations=policy.reservations,
        backfill_window_seconds=policy.backfill_window_seconds,
        hides_names=policy.hide_foreign_names,
    )
    spare = tuple(
        SpareNodes(each.layer, each.count, tuple(sorted(each.node_selector.items())))
        for each in policy.spare_nodes
    )
    return replace(PROFILES[policy.strategy], preemption=rules, queues=queues, spare_nodes=spare)


def membership(policy: Policy) -> Membership:
    """Return what tells the gangs of pods."""
    return table.membership(policy.gang_kinds)


def naming(policy: Policy) -> Naming:
    """Return how preemptors and victims are named to each other."""
    return Naming(policy.hide_foreign_names)


def _queue_rules(policy: Policy) -> declared.QueueRules:
    """Return what is not in the objects of queues."""
    others = {Product.KUEUE: policy.kueue, Product.VOLCANO: policy.volcano}
    return declared.QueueRules(
        kueue_fairness=policy.kueue_fairness,
        open=policy.queue_namespaces is QueueNamespaces.ALL,
        gpu_resources=policy.gpu_resources,
        ignored=frozenset(each for each, quota in others.items() if quota is QuotaOf.IGNORE),
        watched=frozenset(each for each, quota in others.items() if quota is QuotaOf.AUTO),
        requests=_request_rules(policy),
    )


def _request_rules(policy: Policy) -> RequestRules:
    """Return what quotas count for requests."""
    transformations = {}
    for each in policy.resource_transformations:
        outputs = ((name, _factor(name, factor)) for name, factor in each.outputs.items())
        replaces = each.strategy is TransformationStrategy.REPLACE
        transformations[each.input] = Transformation(
            tuple(outputs), replaces=replaces, multiply_by=each.multiply_by
        )
    return RequestRules(transformations, policy.exclude_resource_prefixes)


def _factor(resource: str, quantity: str | int) -> Fraction:
    """Return a quantity in the unit of its resource, down to a thousandth of one."""
    return Fraction(parse_quantity(quantity, 1000), 1000) * amount_of(resource, 1)


def _rules(policy: Policy) -> Rules:
    """Return which pods may be evicted."""
    return Rules(
        preemption=policy.preemption,
        other_schedulers=policy.preempt_other_schedulers,
        label_namespaces=frozenset(policy.protection_label_namespaces),
        min_runtime_seconds=policy.min_runtime_before_preemption_seconds,
        max_min_runtime_seconds=policy.max_min_runtime_seconds,
        victim_timeout_seconds=policy.victim_timeout_seconds,
        unprotected_jobs=policy.preempt_unprotected_jobs,
        yield_memory_seconds=policy.yield_memory_seconds,
        lost_work_cap_seconds=policy.lost_work_cap_seconds,
        ends=ends(policy),
        within_budgets=policy.use_eviction_api,
    )


def ends(policy: Policy) -> Ends:
    """Return how long pods may take to end."""
    return Ends(policy.max_termination_seconds, policy.max_grace_period_seconds)
