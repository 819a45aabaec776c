"""What can be said about the chart without helm."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import gang_scheduler
from gang_scheduler.api import crds
from gang_scheduler.state.kinds import KINDS

PROJECT = Path(__file__).parents[2]
CHART = PROJECT / "charts" / "py-gang-scheduler"
ROLES = ["clusterrole.yaml", "role.yaml"]


def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return loaded


def values_schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return loaded


def unknown_keys(given: dict[str, Any], schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the keys that the schema does not list, down to where it allows any."""
    known: dict[str, Any] = schema.get("properties", {key: {} for key in given})
    for key, value in given.items():
        if key not in known:
            yield f"{path}.{key}"
        elif isinstance(value, dict):
            yield from unknown_keys(value, known[key], f"{path}.{key}")


ON_DEMAND = re.compile(r"^ +\{\{- if (.*?)\}\}\n(.*?)^ +\{\{- end \}\}\n", re.DOTALL | re.MULTILINE)


def rules(template: str) -> list[dict[str, list[str]]]:
    """Return the rules of the roles in a template that every installation has."""
    text = ON_DEMAND.sub("", (CHART / "templates" / template).read_text())
    text = re.sub(r"\{\{.*?\}\}", "RENDERED", text)
    blocks = re.findall(r"^rules:\n(.*?)(?=^---|^RENDERED|\Z)", text, re.DOTALL | re.MULTILINE)
    return [rule for block in blocks for rule in yaml.safe_load(block)]


def granted(template: str) -> set[tuple[str, str]]:
    """Return every verb with its resource."""
    return {
        (verb, resource)
        for rule in rules(template)
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_crds_of_the_chart_are_those_of_the_project() -> None:
    assert [] == crds.stale(CHART / "files" / "crds")


def test_the_chart_holds_no_other_crd() -> None:
    assert sorted(crds.files()) == sorted(p.name for p in (CHART / "files" / "crds").iterdir())


def test_the_version_of_the_application_is_ours() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert gang_scheduler.__version__ == chart["appVersion"]


def test_every_value_is_in_the_schema() -> None:
    assert [] == list(unknown_keys(values(), values_schema()))


def test_every_value_of_the_schema_has_a_default() -> None:
    # Helm itself hands `global` to every chart that is a part of another one.
    assert set(values_schema()["properties"]) == {*values(), "global"}


@pytest.mark.parametrize("template", ROLES)
def test_no_role_has_a_wildcard(template: str) -> None:
    words = [word for rule in rules(template) for words in rule.values() for word in words]

    assert "RENDERED" in words or "pods" in words  # the rules were found
    assert not any("*" in word for word in words)


@pytest.mark.parametrize("template", ROLES)
def test_no_role_reads_secrets_or_escalates(template: str) -> None:
    forbidden_verbs = {"deletecollection", "escalate", "bind", "impersonate"}

    assert not {verb for verb, _ in granted(template)} & forbidden_verbs
    assert not {resource for _, resource in granted(template)} & {"secrets", "pods/finalizers"}


def test_the_scheduler_may_bind_pods_and_report() -> None:
    needed = {
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("delete", "pods"),
        ("patch", "podgroups/status"),
        ("create", "events"),
    }

    assert needed <= granted("clusterrole.yaml")


def test_the_scheduler_may_see_all_that_it_looks_at_and_nothing_more() -> None:
    seeing = {"get", "list", "watch"}
    seen = {
        (group, resource)
        for rule in rules("clusterrole.yaml")
        if seeing == set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    kopf = {("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")}

    watched = {(gvr.group, gvr.plural) for each in KINDS for gvr in each.reader.versions}
    assert watched | kopf == seen


def test_the_pod_passes_the_restricted_security_standard() -> None:
    deployment = (CHART / "templates" / "deployment.yaml").read_text()
    needed = [
        "runAsNonRoot: true",
        "type: RuntimeDefault",
        "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true",
        'drop: ["ALL"]',
    ]

    assert [] == [line for line in needed if line not in deployment]


@pytest.mark.parametrize("template", ROLES)
def test_nothing_is_deleted_but_victims(template: str) -> None:
    deleted = {resource for verb, resource in granted(template) if verb == "delete"}

    assert deleted == ({"pods"} if template == "clusterrole.yaml" else set())


def test_only_a_setting_lets_the_scheduler_use_the_eviction_api() -> None:
    text = (CHART / "templates" / "clusterrole.yaml").read_text()
    (condition, block), *others = ON_DEMAND.findall(text)

    assert [] == others
    assert "useEvictionApi" in condition
    eviction = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
    assert [eviction] == yaml.safe_load(block)
