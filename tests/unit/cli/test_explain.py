"""`explain`: what it prints for a NAME, and how it ends where there is none, or several."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cases.test_cases import expanded
from gang_scheduler.cli import main
from support import yaml_texts
from support.api_objects import node_body
from support.suspended_jobs import job, our_queue, template

MANIFESTS: list[dict[str, Any]] = [
    {"kind": "Node", "copies": 2, "name": "n", "allocatable": {"cpu": 4}},
    {"kind": "PodGroup", "name": "llama", "minMember": 3},
    {"kind": "Pod", "copies": 3, "name": "llama", "gang": "llama", "requests": {"cpu": 4}},
    {"kind": "Pod", "name": "twice", "requests": {"cpu": 1}, "metadata": {"namespace": "a"}},
    {"kind": "Pod", "name": "twice", "requests": {"cpu": 1}, "metadata": {"namespace": "b"}},
]


def explain(*arguments: str, manifests: Any = MANIFESTS) -> Result:
    said = yaml_texts.written_all([*expanded(manifests)])
    return CliRunner().invoke(main, ["explain", *arguments, "-f", "-"], input=said)


def test_the_first_sentence_comes_second_and_the_source_last() -> None:
    lines = explain("llama").stdout.splitlines()

    assert "default/llama   PodGroup   priority 0   3 of 3 members" == lines[0]
    assert "It lacks room: it needs 3 nodes with 4 cpu free, 2 have them." == lines[1]
    assert lines[-1].startswith("computed from 2 nodes and 5 pods, as of ")


def test_no_line_is_wider_than_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "45")

    assert 45 >= max(map(len, explain("llama").stdout.splitlines()))


def test_no_line_is_wider_than_a_hundred_columns_where_it_goes_to_no_terminal() -> None:
    assert 100 >= max(map(len, explain("llama", "-o", "wide").stdout.splitlines()))


@pytest.mark.parametrize("name", ["podgroup/llama", "default/llama", "pod/llama-0", "llama-0"])
def test_a_gang_has_several_names(name: str) -> None:
    assert "default/llama" == json.loads(explain(name, "-o", "json").stdout)["name"]


def test_json_and_yaml_are_the_same_document() -> None:
    as_json, as_yaml = (explain("llama", "-o", each).stdout for each in ("json", "yaml"))

    assert json.loads(as_json) == yaml_texts.read(as_yaml)


def test_several_of_a_name_are_listed() -> None:
    outcome = explain("twice")

    assert 2 == outcome.exit_code
    assert "several gangs are named twice:\npod/a/twice\npod/b/twice\n" in outcome.stderr


def test_a_namespace_tells_them_apart() -> None:
    assert 0 == explain("twice", "-n", "a").exit_code


def test_an_unknown_name_is_reported_with_a_similar_one() -> None:
    outcome = explain("lama")

    assert 3 == outcome.exit_code
    assert "no PodGroup, workload, gang or pod has this name; did you mean llama?" in outcome.stderr


def test_a_time_that_is_none_is_refused() -> None:
    outcome = explain("llama", "--since", "yesterday")

    assert 2 == outcome.exit_code
    assert "--since:" in outcome.stderr


def test_watch_prints_anew_only_when_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cluster.yaml"
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            write([*MANIFESTS, {"kind": "Node", "name": "more", "allocatable": {"cpu": 4}}])
        if len(slept) == 4:
            raise KeyboardInterrupt

    def write(manifests: Any) -> None:
        file.write_text(yaml_texts.written_all([*expanded(manifests)]))

    write(MANIFESTS)
    monkeypatch.setattr(time, "sleep", sleep)
    outcome = CliRunner().invoke(main, ["explain", "llama", "--watch", "-f", str(file)])

    assert 130 == outcome.exit_code
    assert 2 == outcome.stdout.count("default/llama   PodGroup")
    first, second = outcome.stdout.split("computed from 2 nodes")
    starts = "There is room for it now, on more, n-0, n-1: the next cycle starts it."
    assert f"* {starts}" in second.splitlines()
    assert "  default/llama   PodGroup   priority 0   3 of 3 members" in second.splitlines()
    assert not [line for line in first.splitlines() if line.startswith("*")]


def test_a_gang_in_another_namespace_is_what_may_be_meant() -> None:
    elsewhere = [
        {"kind": "PodGroup", "name": "alpha", "minMember": 1, "metadata": {"namespace": "a"}}
    ]

    outcome = explain("alpha", "-n", "b", manifests=elsewhere)

    assert 3 == outcome.exit_code
    assert "did you mean a/alpha?" in outcome.stderr


def test_the_error_of_a_name_in_an_unknown_namespace_says_so() -> None:
    elsewhere = [
        {"kind": "PodGroup", "name": "alpha", "minMember": 1, "metadata": {"namespace": "a-team"}}
    ]

    outcome = explain("beta", "-n", "b-team", manifests=elsewhere)

    assert 3 == outcome.exit_code
    assert 'namespaces "b-team" not found; did you mean a-team?' in outcome.stderr


def test_members_that_are_gated_are_what_is_missing() -> None:
    gates = {"schedulingGates": [{"name": "example.com/data"}]}
    gated = {"kind": "Pod", "copies": 2, "name": "a", "gang": "a", "spec": gates}

    lines = explain(
        "a", manifests=[{"kind": "PodGroup", "name": "a", "minMember": 2}, gated]
    ).stdout

    assert "It lacks members: 2 of 2 pods have schedulingGates, and no scheduler looks at" in lines


def test_of_a_job_whose_pods_start_by_themselves_it_is_said_which_waits() -> None:
    metadata = {"name": "a", "namespace": "default"}
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
    spec = {"completions": 3, "parallelism": 3, "template": template}
    job = {"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata, "spec": spec}

    said = " ".join(explain("job/a", manifests=[job]).stdout.split())

    assert "3 of 3 pods wait for a node: explain pod/a-" in said
    assert "Not a gang: each pod of this Job starts by itself." in said


def test_a_workload_that_waits_suspended_is_explained_by_its_name() -> None:
    documents = [node_body(allocatable={"cpu": "4", "pods": "10"}), our_queue(cpu=8), job(pods=6)]
    said = yaml_texts.written_all(documents)

    found = CliRunner().invoke(main, ["explain", "job/job", "-f", "-"], input=said)

    first, second, *_ = found.stdout.splitlines()
    assert "default/job   suspended Job   queue q   priority 0   6 of 6 members" in first
    room = "it needs room for 6 members of 1 cpu each, there is room for 4"
    assert f"It lacks room: {room}." == second


def test_a_snapshot_has_the_events_of_the_gang_and_its_pods(tmp_path: Path) -> None:
    said = yaml_texts.written_all([*expanded(MANIFESTS)])
    taken = CliRunner().invoke(main, ["snapshot", "-f", "-", "-o", "-"], input=said).stdout
    header, *others = taken.splitlines()
    events = [
        {"namespace": namespace, "name": name, "reason": "FailedScheduling", "note": note}
        | {"first": 60, "last": 90, "times": 2}
        for namespace, name, note in (
            ("default", "llama", "It lacks room. More."),
            ("default", "llama-1", ""),
            ("other", "llama", "of another one"),
            ("default", "lama", "of another one"),
        )
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join([json.dumps(json.loads(header) | {"events": events}), *others]))

    found = json.loads(
        CliRunner().invoke(main, ["explain", "llama", "-o", "json", "-f", str(file)]).stdout
    )

    told = [each["what"] for each in found["history"] if "times" in each]
    assert ["FailedScheduling: It lacks room"] == told
    assert "historyLacks" not in found


def test_of_a_snapshot_of_a_cluster_it_is_said_that_it_has_no_events(tmp_path: Path) -> None:
    said = yaml_texts.written_all([*expanded(MANIFESTS)])
    taken = CliRunner().invoke(main, ["snapshot", "-f", "-", "-o", "-"], input=said).stdout
    of_manifests, of_a_cluster = tmp_path / "m.jsonl", tmp_path / "c.jsonl"
    of_manifests.write_text(taken)
    of_a_cluster.write_text(taken.replace('"source":"files",', ""))

    lines, others = (
        CliRunner().invoke(main, ["explain", "llama", "-f", str(file)]).stdout.splitlines()
        for file in (of_a_cluster, of_manifests)
    )

    assert "  without Events: the snapshot has none" in lines[lines.index("HISTORY") :]
    assert not [each for each in others if "Events" in each]


def test_settings_may_be_given() -> None:
    small = [
        MANIFESTS[0],
        {"kind": "PodGroup", "name": "llama", "minMember": 2},
        {"kind": "Pod", "copies": 2, "name": "llama", "gang": "llama", "requests": {"cpu": 1}},
    ]

    packed, spread = (
        json.loads(explain("llama", "-o", "json", *flags, manifests=small).stdout)
        for flags in ((), ("--setting", "strategy=spread"))
    )

    assert [["n-0"], ["n-0", "n-1"]] == [sorted(each["nodesTaken"]) for each in (packed, spread)]


def test_what_has_no_headers_has_no_option_for_them() -> None:
    assert 2 == explain("llama", "--no-headers").exit_code


def test_colour_shows_the_parts_and_changes_no_word() -> None:
    colored = explain("llama", "--color=always").stdout
    plain = explain("llama").stdout

    assert "\x1b[1mWHERE\x1b[0m" in colored
    assert colored.startswith("\x1b[1mdefault/llama")
    assert "\x1b" not in plain
    assert plain == re.sub("\x1b\\[[0-9;]*m", "", colored)


def test_of_a_workload_that_waits_suspended_it_is_said_that_volumes_do_not_count_yet() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    waits = job(pods=6, of=template(volumes=[claim]))
    node = node_body(allocatable={"cpu": "4", "pods": "10"})
    said = yaml_texts.written_all([node, our_queue(cpu=8), waits])

    found = CliRunner().invoke(main, ["explain", "job/job", "-f", "-"], input=said)

    lines = " ".join(found.stdout.split())
    assert "there is room for 4. The volumes of its pods are looked at only once" in lines
