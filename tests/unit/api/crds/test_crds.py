"""The generated CRDs are fresh, and what the API server accepts as structural."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.api import crds
from support import yaml_texts

PROJECT = Path(__file__).parents[4]
POD_GROUPS, TOPOLOGIES = (
    "podgroups.scheduling.sigs.k8s.io.yaml",
    "clusternetworktopologies.scheduling.koordinator.sh.yaml",
)
QUEUES, FLAVORS = "queues.py-gang-scheduler.io.yaml", "resourceflavors.py-gang-scheduler.io.yaml"


def manifest(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml_texts.read(crds.files()[name])
    return loaded


def root(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = manifest(name)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def values(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every value that the schema describes, with the way to it."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from values(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from values(schema[keyword], f"{path}[]")


def test_the_files_in_crds_are_fresh() -> None:
    assert [] == crds.stale(PROJECT / "crds")


def test_crds_holds_nothing_else() -> None:
    assert sorted(crds.files()) == sorted(path.name for path in (PROJECT / "crds").iterdir())


def test_a_check_names_stale_files_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / POD_GROUPS).write_text("old")

    status = crds.main(["--check", str(tmp_path)])

    assert 1 == status
    assert "old" == (tmp_path / POD_GROUPS).read_text()
    complaints = capsys.readouterr().err
    assert POD_GROUPS in complaints
    assert TOPOLOGIES in complaints


def test_what_was_written_passes_the_check(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "crds"
    crds.main([str(directory)])

    assert 0 == crds.main(["--check", str(directory)])


@pytest.mark.parametrize("name", [POD_GROUPS, TOPOLOGIES, QUEUES, FLAVORS])
def test_every_value_has_a_type(name: str) -> None:
    untyped = [
        path
        for path, value in values(root(name))
        if "type" not in value and not value.get("x-kubernetes-int-or-string")
    ]

    assert [] == untyped


@pytest.mark.parametrize("name", [POD_GROUPS, TOPOLOGIES, QUEUES, FLAVORS])
def test_every_field_but_metadata_is_described(name: str) -> None:
    undescribed = [
        path
        for path, value in values(root(name))
        if "description" not in value and not path.endswith("[]") and path != ".metadata"
    ]

    assert [] == undescribed


@pytest.mark.parametrize("name", [POD_GROUPS, TOPOLOGIES, QUEUES, FLAVORS])
def test_every_list_says_how_it_is_merged(name: str) -> None:
    undecided = [
        path
        for path, value in values(root(name))
        if value.get("type") == "array" and "x-kubernetes-list-type" not in value
    ]

    assert [] == undecided


def test_the_columns_of_a_pod_group_are_those_we_promise() -> None:
    version = manifest(POD_GROUPS)["spec"]["versions"][0]
    counts = ["Min", "Members", "Scheduled", "Running"]
    promised = ["Phase", *counts, "Domain", "Queue", "Reason", "Age"]

    columns = version["additionalPrinterColumns"]
    assert promised == [column["name"] for column in columns]
    # Where a gang is takes half a terminal, and a queue is there for few.
    assert ["Domain", "Queue"] == [each["name"] for each in columns if each.get("priority")]


def test_a_pod_group_without_members_is_refused_at_once() -> None:
    min_member = root(POD_GROUPS)["properties"]["spec"]["properties"]["minMember"]

    assert (1, "int32") == (min_member["minimum"], min_member["format"])
    assert "minMember must be at least 1" == min_member["x-kubernetes-validations"][0]["message"]


def test_the_meaning_of_a_topology_is_left_to_a_condition() -> None:
    """The API server must store what we are to explain: no rule, and no list with unique keys."""
    spec = root(TOPOLOGIES)["properties"]["spec"]
    rules = [path for path, value in values(spec) if "x-kubernetes-validations" in value]
    unique = [
        path
        for path, value in values(spec)
        if value.get("x-kubernetes-list-type") in {"map", "set"}
    ]

    assert ([], []) == (rules, unique)


def test_only_the_community_group_needs_an_approval() -> None:
    approval = manifest(POD_GROUPS)["metadata"]["annotations"]["api-approved.kubernetes.io"]

    assert approval.startswith("unapproved")
    assert "annotations" not in manifest(TOPOLOGIES)["metadata"]


@pytest.mark.parametrize("name", [POD_GROUPS, TOPOLOGIES, QUEUES, FLAVORS])
def test_the_file_says_that_it_is_generated(name: str) -> None:
    first = crds.files()[name].splitlines()[0]

    assert "make crds" in first


def test_the_columns_of_a_queue_are_those_we_promise() -> None:
    version = manifest(QUEUES)["spec"]["versions"][0]
    names = [column["name"] for column in version["additionalPrinterColumns"]]

    assert "Parent Weight Resource Nominal Used Borrowed Lent Share Pending Running Active Age" == (
        " ".join(names)
    )
    assert ["pgq"] == manifest(QUEUES)["spec"]["names"]["shortNames"]
    assert {"status": {}} == version["subresources"]
    assert "subresources" not in manifest(FLAVORS)["spec"]["versions"][0]


def test_amounts_of_a_queue_are_refused_that_are_negative_or_out_of_order() -> None:
    quota = root(QUEUES)["properties"]["spec"]["properties"]["quota"]
    amount = quota["properties"]["soft"]["additionalProperties"]

    assert 0 == amount["minimum"]
    assert re.fullmatch(amount["pattern"], "1500m")
    assert not re.fullmatch(amount["pattern"], "-1")
    assert [
        "guaranteed must not be more than soft",
        "guaranteed must not be more than hard",
        "soft must not be more than hard",
    ] == [rule["message"] for rule in quota["x-kubernetes-validations"]]


def test_priorities_of_a_queue_are_refused_that_are_out_of_order() -> None:
    limits = root(QUEUES)["properties"]["spec"]["properties"]["admissionControl"]["properties"]

    (rule,) = limits["priorityRange"]["x-kubernetes-validations"]
    assert "min must not be more than max" == rule["message"]


def test_values_are_refused_that_do_not_go_with_the_operator_of_a_selector() -> None:
    selector = root(QUEUES)["properties"]["spec"]["properties"]["namespaceSelector"]
    expressions = selector["properties"]["matchExpressions"]

    (rule,) = expressions["items"]["x-kubernetes-validations"]
    assert (
        "values is required with In and NotIn, and must be absent with other operators"
        == rule["message"]
    )
    assert 64 == expressions["maxItems"]


def test_a_queue_of_the_name_of_the_one_for_all_others_is_refused() -> None:
    rules = root(QUEUES)["x-kubernetes-validations"]

    assert "the name none is reserved for gangs that name no queue" == rules[0]["message"]
