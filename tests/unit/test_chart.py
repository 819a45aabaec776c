"""What can be said about the chart without helm."""

import re
from pathlib import Path

import pytest

import gang_scheduler
from gang_auditor.kinds_watched import WATCHED
from gang_auditor.rules.leader import LEASE_NAME
from gang_scheduler.api import crds
from gang_scheduler.inspection import live
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.workloads import table
from support import yaml_texts
from tools.chart import CHART, schema
from tools.chart import __main__ as chart

ROLES = ["auditorrole.yaml", "clusterrole.yaml", "readerrole.yaml", "role.yaml"]

ON_DEMAND = re.compile(r"^ +\{\{- if (.*?)\}\}\n(.*?)^ +\{\{- end \}\}\n", re.DOTALL | re.MULTILINE)


def rules(template: str) -> list[dict[str, list[str]]]:
    """Return the rules of the roles in a template that every installation has."""
    text = ON_DEMAND.sub("", (CHART / "templates" / template).read_text())
    text = re.sub(r"\{\{.*?\}\}", "RENDERED", text)
    blocks = re.findall(r"^rules:\n(.*?)(?=^---|^RENDERED|\Z)", text, re.DOTALL | re.MULTILINE)
    return [rule for block in blocks for rule in yaml_texts.read(block)]


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
    described = yaml_texts.read((CHART / "Chart.yaml").read_text())

    assert gang_scheduler.__version__ == described["appVersion"] == described["version"]


def test_what_a_catalogue_shows_of_crds_is_what_there_is() -> None:
    described = yaml_texts.read((CHART / "Chart.yaml").read_text())["annotations"]
    shown = yaml_texts.read(described["artifacthub.io/crds"])
    there = [yaml_texts.read(text) for text in crds.files().values()]

    assert sorted((each["name"], each["kind"], each["version"]) for each in shown) == sorted(
        (crd["metadata"]["name"], crd["spec"]["names"]["kind"], version["name"])
        for crd in there
        for version in crd["spec"]["versions"]
    )


def test_what_is_generated_of_the_chart_is_fresh() -> None:
    assert [] == [path.name for path, text in chart.files().items() if path.read_text() != text]


def test_a_check_names_stale_files_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "values.schema.json"
    old.write_text("old")
    monkeypatch.setattr(chart, "files", lambda: {old: "new"})

    assert (1, "old") == (chart.main(["--check"]), old.read_text())
    assert f"{old} is stale, run: make chart\n" == capsys.readouterr().err
    assert (0, "new") == (chart.main([]), old.read_text())


def test_every_value_has_a_default_and_a_row_in_the_readme() -> None:
    values = yaml_texts.read((CHART / "values.yaml").read_text())
    rows = set(re.findall(r"^\| `(\S+)` \| `", (CHART / "README.md").read_text(), re.MULTILINE))

    # Helm itself hands `global` to every chart that is a part of another one.
    assert set(schema.values_schema()["properties"]) == {*values, "global"}
    assert {*values} - {"settings"} == {each.partition(".")[0] for each in rows} - {"settings"}


@pytest.mark.parametrize("template", ROLES)
def test_no_role_has_a_wildcard(template: str) -> None:
    words = [word for rule in rules(template) for words in rule.values() for word in words]

    assert words  # the rules were found
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
        ("patch", "events"),
    }

    assert needed <= granted("clusterrole.yaml")


def seen_by(template: str) -> set[tuple[str, str]]:
    """Return the groups and resources of all objects that may be watched."""
    return {
        (group, resource)
        for rule in rules(template)
        if {"get", "list", "watch"} == set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_the_scheduler_may_see_all_that_it_looks_at_and_nothing_more() -> None:
    seen = seen_by("clusterrole.yaml")
    kopf = {("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")}

    readers = (each.reader for each in KINDS if each.reader.kind not in table.OWNERS)
    watched = {(gvr.group, gvr.plural) for each in readers for gvr in each.versions}
    assert watched | kopf == seen


def test_readers_see_what_the_scheduler_sees_and_its_settings() -> None:
    watched = {(gvr.group, gvr.plural) for each in KINDS for gvr in each.reader.versions}
    beside = {("", "configmaps"), ("", "events"), ("events.k8s.io", "events")}

    assert watched | beside == seen_by("readerrole.yaml")
    verbs = {verb for verb, _ in granted("readerrole.yaml")}
    assert {"get", "list", "watch"} == verbs
    (of_settings,) = (e for e in rules("readerrole.yaml") if "configmaps" in e["resources"])
    assert [live.NAME] == of_settings["resourceNames"]


def test_the_auditor_sees_what_it_judges_by_and_of_leases_that_of_the_scheduler() -> None:
    watched = {(gvr.group, gvr.plural) for each in WATCHED for gvr in each.versions}

    assert watched == seen_by("auditorrole.yaml")
    assert {"get", "list", "watch"} == {verb for verb, _ in granted("auditorrole.yaml")}
    (of_leases,) = (each for each in rules("auditorrole.yaml") if "leases" in each["resources"])
    assert [LEASE_NAME] == of_leases["resourceNames"]


@pytest.mark.parametrize("template", ROLES)
def test_nothing_is_deleted_but_victims(template: str) -> None:
    deleted = {resource for verb, resource in granted(template) if verb == "delete"}

    assert deleted == ({"pods"} if template == "clusterrole.yaml" else set())


def on_demand(setting: str) -> list[dict[str, list[str]]]:
    """Return the rules that a setting adds to the role of the scheduler."""
    text = (CHART / "templates" / "clusterrole.yaml").read_text()
    blocks = {
        condition.split(".")[-1].strip(): block for condition, block in ON_DEMAND.findall(text)
    }
    found: list[dict[str, list[str]]] = yaml_texts.read(blocks[setting])
    return found


def test_only_a_setting_lets_the_scheduler_use_the_eviction_api() -> None:
    eviction = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}

    assert [eviction] == on_demand("useEvictionApi")


def test_a_setting_takes_the_rights_on_claims_of_devices_away() -> None:
    rights = {(verb, resource) for verb, resource in granted("clusterrole.yaml")}
    claims = ["resourceclaims", "resourceclaims/status", "resourceclaims/binding"]
    text = (CHART / "templates" / "clusterrole.yaml").read_text()
    (block,) = [block for when, block in ON_DEMAND.findall(text) if '.dra) "off"' in when]

    assert not {("update", each) for each in claims} & rights
    assert [
        {"apiGroups": ["resource.k8s.io"], "resources": claims, "verbs": ["update", "patch"]},
        {"apiGroups": ["resource.k8s.io"], "resources": claims[:1], "verbs": ["create", "delete"]},
    ] == yaml_texts.read(block)


def test_only_a_setting_lets_the_scheduler_patch_pods() -> None:
    assert ("patch", "pods") not in granted("clusterrole.yaml")
    assert [{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}] == on_demand(
        "checkpointAnnotations"
    )


def test_only_a_setting_lets_the_scheduler_ask_for_nodes() -> None:
    verbs = ["create", "delete"]
    requests = {"apiGroups": ["autoscaling.x-k8s.io"], "resources": ["provisioningrequests"]}
    templates = {"apiGroups": [""], "resources": ["podtemplates"]}
    expected = [{**requests, "verbs": verbs}, {**templates, "verbs": verbs}]
    assert expected == on_demand("provisioningRequests")


def test_only_a_setting_lets_the_scheduler_write_the_phases_of_volcano() -> None:
    jobs = {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["get"]}
    phases = {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["podgroups", "podgroups/status"],
        "verbs": ["patch"],
    }
    assert [jobs, phases] == on_demand("volcanoJobs")
