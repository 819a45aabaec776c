"""Every setting that decisions depend on reaches them, in `run` and in `simulate`."""

import enum
from typing import Any

import click
import pytest
from pydantic import ValidationError

from gang_scheduler import policy
from gang_scheduler.cli import main
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.run import Settings
from gang_scheduler.settings.values import ResourceTransformation, SpareNodes, Strategy
from gang_scheduler.state.changes import Changes

DECIDE_NOTHING = {
    # What becomes of members that are bound already, and when it is written.
    *("on_partial_gang", "claim_timeout_seconds"),
    # How gangs save their work once it is decided that they go.
    *("checkpoint_annotations", "checkpoint_http", "max_checkpoint_seconds", "max_checkpoints"),
    *("degraded_gangs", "force_delete_stuck_pods_seconds"),
    *("bind_concurrency", "batch_milliseconds"),
    *("status_interval_milliseconds", "status_concurrency", "pod_events", "pod_event_seconds"),
    # How the cluster is seen and spoken to.
    *("source", "sweep_seconds", "http_client", "http_host", "http_port", "kubeconfig"),
    *("lease_duration_seconds", "renew_deadline_seconds", "retry_period_seconds"),
    *("leader_elect", "lease_name", "lease_namespace", "kueue_namespace", "volcano_namespace"),
    "volcano_jobs",
    *("queue_deletion_grace_seconds", "log_format", "log_level", "metrics_queues", "gauge_shapes"),
}


LISTS: dict[str, Any] = {
    "resource_transformations": (ResourceTransformation(input="x", outputs={"cpu": "1"}),),
    "spare_nodes": (SpareNodes(layer="BlockLayer"),),
    "manage_jobs": ("Job",),
}


def another(name: str) -> Any:
    """Return another value of a setting than its default, of the same type."""
    value = Policy.model_fields[name].default
    if name in LISTS:
        return LISTS[name]
    if isinstance(value, enum.Enum):
        return next(each for each in type(value) if each is not value)
    if isinstance(value, str):
        return "another"
    if isinstance(value, tuple):
        return value[1:] if len(value) > 1 else ("another",)
    return not value if isinstance(value, bool) else value + 1


def made_of(given: Policy) -> tuple[Any, ...]:
    """Return all that decisions are given of the settings."""
    cache = policy.cache(given, Changes())
    kept, rules = cache.gang_queue.deadlines.timeout_seconds, cache.evictable_pods.rules
    names = cache.gang_queue.queues.names
    settings = cache.gang_queue.reservations.settings
    queue_rules = cache.queues.rules, names.rules, cache.queue_usage.rules, settings
    bought = cache.provisioning.settings
    by_default = policy.membership(given).by_default
    kinds = by_default, cache.failed_nodes.rules, cache.suspended.rules
    return (
        *(cache.schedulers, rules, kept, queue_rules, bought, kinds),
        *(policy.profile(given), policy.naming(given)),
    )


def flags(command: str) -> dict[str | None, list[str]]:
    params = main.loaded(command).params
    return {
        each.name: [*each.opts, *each.secondary_opts]
        for each in params
        if isinstance(each, click.Option)
    }


@pytest.mark.parametrize("name", Policy.model_fields)
def test_every_setting_reaches_what_decides(name: str) -> None:
    changed = Policy(**{name: another(name)})

    assert made_of(Policy()) != made_of(changed)


def test_a_setting_either_decides_or_is_known_not_to() -> None:
    assert DECIDE_NOTHING == {*Settings.model_fields} - {*Policy.model_fields}


def test_what_decides_has_the_same_flags_in_both_commands() -> None:
    run, simulate = flags("run"), flags("simulate")

    assert {name: run[name] for name in Policy.model_fields} == {
        name: simulate.get(name) for name in Policy.model_fields
    }


def test_run_decides_by_the_settings_that_it_has() -> None:
    assert made_of(Policy(strategy=Strategy.SPREAD)) == made_of(Settings(strategy=Strategy.SPREAD))


def test_what_resources_count_as_is_exact() -> None:
    given = {"input": "x", "strategy": "Replace", "outputs": {"gpu": "500m", "cpu": 2, "y": "5Gi"}}

    settings = Policy.model_validate({"resource_transformations": [{**given, "multiplyBy": "z"}]})
    rules = policy.cache(settings, Changes()).queues.rules.requests

    assert rules.charged((("x", 3),)) == {"gpu": 2, "cpu": 6000, "y": 15 * 2**30}
    assert rules.charged((("x", 1), ("z", 3))) == {"gpu": 2, "cpu": 6000, "y": 15 * 2**30, "z": 3}


def test_a_resource_counts_as_others_by_one_rule_alone() -> None:
    rule = {"input": "x", "outputs": {"y": 1}}

    with pytest.raises(ValidationError, match=r"\[1\].input 'x' is there twice") as error:
        Policy.model_validate({"resource_transformations": [rule, {**rule, "multiplyBy": "z"}]})

    assert ("resource_transformations",) == error.value.errors()[0]["loc"]
