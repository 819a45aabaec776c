"""Every setting that decisions depend on reaches them, in `run` and in `simulate`."""

import ast
import json
from dataclasses import fields
from pathlib import Path

import click
import pytest
from pydantic import ValidationError

from gang_scheduler import from_settings
from gang_scheduler.cli import main
from gang_scheduler.model.api_words import GatherComputeDomains, NodeStrategy
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.run import Settings
from gang_scheduler.state.changes import Changes

DECIDE_NOTHING = {
    # What becomes of members that are bound already, and when it is written.
    *("on_partial_gang", "claim_timeout_seconds", "device_binding_timeout_seconds"),
    # How gangs save their work once it is decided that they go.
    *("checkpoint_annotations", "checkpoint_http", "max_checkpoint_seconds", "max_checkpoints"),
    *("degraded_gangs", "force_delete_stuck_pods_seconds"),
    *("bind_concurrency", "batch_milliseconds"),
    *("status_interval_milliseconds", "status_concurrency", "pod_events", "pod_event_seconds"),
    # How the cluster is seen and spoken to.
    *("source", "sweep_seconds", "http_client", "http_host", "http_port", "kubeconfig"),
    *("lease_duration_seconds", "renew_deadline_seconds", "retry_period_seconds"),
    *("leader_elect", "lease_name", "lease_namespace", "kueue_namespace", "volcano_namespace"),
    *("volcano_jobs", "record_to", "record_megabytes", "record_files"),
    *("queue_deletion_grace_seconds", "log_format", "log_level", "metrics_queues", "gauge_shapes"),
}


def read_by_the_product() -> set[str]:
    """Return all names that code reads of something."""
    return {
        node.attr
        for path in Path(from_settings.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }


def flags(command: str) -> dict[str | None, list[str]]:
    params = main.loaded(command).params
    return {
        each.name: [*each.opts, *each.secondary_opts]
        for each in params
        if isinstance(each, click.Option)
    }


def test_no_setting_is_left_unread() -> None:
    assert set() == Policy.model_fields.keys() - read_by_the_product()


def test_each_setting_is_of_one_subject() -> None:
    given = Policy(max_victims=3, strategy="spread")
    rules = given.rules
    found = [
        each.name for subject in fields(rules) for each in fields(getattr(rules, subject.name))
    ]

    assert [*Policy.model_fields] == sorted(found, key=[*Policy.model_fields].index)
    assert (3, NodeStrategy.SPREAD) == (rules.preemption.max_victims, rules.gangs.strategy)
    assert NodeStrategy.SPREAD.value == from_settings.profile(given).rules.gangs.strategy


def test_a_setting_either_decides_or_is_known_not_to() -> None:
    assert DECIDE_NOTHING == {*Settings.model_fields} - {*Policy.model_fields}


def test_what_decides_has_the_same_flags_in_both_commands() -> None:
    run, simulate = flags("run"), flags("simulate")

    assert {name: run[name] for name in Policy.model_fields} == {
        name: simulate.get(name) for name in Policy.model_fields
    }


def test_run_decides_by_the_settings_that_it_has() -> None:
    assert Policy(strategy="spread").rules == Settings(strategy="spread").rules


def test_what_resources_count_as_is_exact() -> None:
    given = {"input": "x", "strategy": "Replace", "outputs": {"gpu": "500m", "cpu": 2, "y": "5Gi"}}

    settings = Policy.model_validate({"resource_transformations": [{**given, "multiplyBy": "z"}]})
    rules = from_settings.cache(settings, Changes()).queues.requests

    assert rules.charged((("x", 3),)) == {"gpu": 2, "cpu": 6000, "y": 15 * 2**30}
    assert rules.charged((("x", 1), ("z", 3))) == {"gpu": 2, "cpu": 6000, "y": 15 * 2**30, "z": 3}


def test_a_resource_counts_as_others_by_one_rule_alone() -> None:
    rule = {"input": "x", "outputs": {"y": 1}}

    with pytest.raises(ValidationError, match=r"\[1\].input 'x' is there twice") as error:
        Policy.model_validate({"resource_transformations": [rule, {**rule, "multiplyBy": "z"}]})

    assert ("resource_transformations",) == error.value.errors()[0]["loc"]


def test_classes_of_devices_count_by_their_mapping() -> None:
    long = {"name": "example.com/gpu", "deviceClassNames": ["h100", "a100"]}
    for given in (long, "example.com/gpu=h100,a100", json.dumps(long)):
        settings = Policy.model_validate({"device_class_mappings": [given]})
        rules = from_settings.cache(settings, Changes()).queues.requests

        asked = (("deviceclass/a100", 1), ("deviceclass/h100", 2), ("deviceclass/nic", 4))
        assert rules.charged(asked) == {"example.com/gpu": 3, "deviceclass/nic": 4}


def test_a_snapshot_knows_whether_compute_domains_gather() -> None:
    settings = Policy.model_validate({"gather_compute_domains": "must"})
    devices = from_settings.cache(settings, Changes()).devices
    devices.serve(served=True)

    assert devices.snapshot().gather_compute_domains == GatherComputeDomains.MUST


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["x=a", "y=b,a"], r"\[1\].deviceClassNames 'a' counts as 'x' already"),
        (["=a"], "at least 1 character"),
        (["x="], "at least 1 character"),
        ([{"name": "x", "deviceClassNames": []}], "at least 1 item"),
        ([{"name": "x", "deviceClassNames": ["a"], "source": []}], "Unexpected keyword argument"),
        (
            [{"name": "x", "deviceClassNames": ["a"], "sources": [{}]}],
            r"\[0\].sources\[0\] must have either counter or capacity",
        ),
        (["x"], "Expecting value"),
    ],
)
def test_a_mapping_of_classes_names_both(given: list[object], words: str) -> None:
    with pytest.raises(ValidationError, match=words) as error:
        Policy.model_validate({"device_class_mappings": given})

    assert error.value.errors()[0]["loc"][0] == "device_class_mappings"
