"""`list` on the command line: every source, kind and state has a line, in the order of turns."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gang_scheduler.cli import main
from support import suspended_jobs
from support.listed_clusters import (
    Body,
    asked,
    document,
    gang,
    hold,
    node,
    pod,
    queue,
    written,
)

NODES = [node("node-0"), node("node-1"), node("node-2")]
RUNS = gang("runs", 2, nodes=["node-0", "node-1"], created="2026-01-01T10:00:00Z")
WAITS = gang("waits", 3, created="2026-01-01T11:00:00Z")
LATER = gang("later", 2, created="2026-01-01T11:30:00Z", namespace="other")
CLUSTER = [*NODES, *RUNS, *WAITS, *LATER]


def names(found: Body) -> list[str]:
    return [f"{each['namespace']}/{each['name']}" for each in found["items"]]


def test_what_waits_comes_first_in_the_order_of_turns(tmp_path: Path) -> None:
    result = asked("list", tmp_path, CLUSTER)

    assert 0 == result.exit_code
    lines = result.stdout.splitlines()
    assert "GANG         PRI  STATE    MEMBERS  GPU  TIME   NODES(REASON)" == lines[0]
    assert lines[1].startswith("team/waits     0  Waiting  0/3       24  ")
    assert "(Unschedulable: room for 1 of 3)" in lines[1]
    assert lines[2].startswith("other/later    0  Waiting  0/2       16  ")
    assert lines[3].startswith("team/runs      0  Running  2/2       16  ")
    assert lines[3].endswith("node-[0-1]")
    assert lines[4].startswith("computed from 3 nodes and 7 pods, as of ")
    assert all(len(line) <= 100 for line in lines)


def test_gangs_of_one_name_are_distinguished(tmp_path: Path) -> None:
    template: Body = {
        "metadata": {"labels": {"py-gang-scheduler.io/gang": "true"}},
        "spec": {
            "schedulerName": "py-gang-scheduler",
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i"}],
        },
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "runs", "namespace": "team", **template["metadata"]},
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }

    group, *members = RUNS
    others = [
        {**each, "metadata": {**each["metadata"], "name": f"other-{number}"}}
        for number, each in enumerate(members)
    ]

    result = asked("list", tmp_path, [*NODES, group, *others, *WAITS, *LATER, job])

    called = [line.split("  ")[0] for line in result.stdout.splitlines()[1:5]]
    assert {"team/runs (PodGroup)", "team/runs (Job)", "team/waits", "other/later"} == set(called)


def test_a_document_has_all_there_is_to_say(tmp_path: Path) -> None:
    found = document("list", tmp_path, CLUSTER)

    assert ["team/waits", "other/later", "team/runs"] == names(found)
    waits, _, runs = found["items"]
    assert ("Waiting", "Unschedulable", 3, 0, 24) == tuple(
        waits[key] for key in ("state", "reason", "members", "scheduled", "gpus")
    )
    assert ("Running", ["node-0", "node-1"], None) == (runs["state"], runs["nodes"], runs["reason"])
    assert "2026-01-01T10:00:00Z" == runs["since"]


def test_wide_has_more_columns_and_whole_messages(tmp_path: Path) -> None:
    heading, first, *_ = asked("list", tmp_path, CLUSTER, "-o", "wide").stdout.splitlines()

    for column in ("KIND", "MIN", "DOMAIN", "FAIRSHARE", "AGING", "EVICTIONS"):
        assert column in heading
    assert "PodGroup" in first
    assert "0/3 nodes are available" in first


def test_names_are_for_other_programs(tmp_path: Path) -> None:
    result = asked("list", tmp_path, CLUSTER, "-o", "name")

    assert "team/waits\nother/later\nteam/runs\n" == result.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-n", "other"], ["other/later"]),
        (["--state", "running"], ["team/runs"]),
        (["--state", "Running,Waiting", "-n", "team"], ["team/waits", "team/runs"]),
        (["--reason", "unschedulable"], ["team/waits", "other/later"]),
        (["--start"], ["team/waits", "other/later"]),
        (["--sort", "name"], ["other/later", "team/runs", "team/waits"]),
        (["--sort", "time"], ["team/runs", "team/waits", "other/later"]),
        (["--queue", "none"], []),
        (["-A", "-n", "team", "--state", "waiting"], ["team/waits", "other/later"]),
    ],
)
def test_only_what_is_asked_for_is_listed(
    tmp_path: Path, options: list[str], expected: list[str]
) -> None:
    assert expected == names(document("list", tmp_path, CLUSTER, *options))


def test_labels_select_gangs_by_their_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "kim")
    mine = gang("mine", 1, labels={"py-gang-scheduler.io/user": "kim", "app": "a"})
    cluster = [*CLUSTER, *mine]

    assert ["team/mine"] == names(document("list", tmp_path, cluster, "-l", "app in (a, b)"))
    assert ["team/mine"] == names(document("list", tmp_path, cluster, "--mine"))
    assert 3 == len(names(document("list", tmp_path, cluster, "-l", "!app")))


def test_a_selector_that_is_none_is_bad_input(tmp_path: Path) -> None:
    result = asked("list", tmp_path, CLUSTER, "-l", "a in b")

    assert (2, "--selector: no label selector: 'a in b'\n") == (
        result.exit_code,
        result.stderr,
    )


def test_nothing_is_reported_in_words(tmp_path: Path) -> None:
    result = asked("list", tmp_path, NODES, "-n", "empty")

    assert (0, "no gangs in namespace empty") == (result.exit_code, result.stdout.splitlines()[0])


def test_without_headers_there_are_rows_alone(tmp_path: Path) -> None:
    lines = asked("list", tmp_path, CLUSTER, "--no-headers").stdout.splitlines()

    assert ["team/waits", "other/later", "team/runs"] == [each.split()[0] for each in lines]


def test_colour_only_repeats_a_word(tmp_path: Path) -> None:
    colored = asked("list", tmp_path, CLUSTER, "--color", "always").stdout

    assert "\x1b[33mWaiting\x1b[0m" in colored
    assert "\x1b" not in asked("list", tmp_path, CLUSTER).stdout


def test_pods_by_themselves_and_annotation_gangs_have_lines(tmp_path: Path) -> None:
    alone = pod("alone", gpus=1)
    foreign = pod("foreign", gpus=1, scheduler="default-scheduler")
    annotated = pod("annotated", gpus=1)
    annotated["metadata"]["annotations"] = {
        "gang.scheduling.koordinator.sh/name": "koord",
        "gang.scheduling.koordinator.sh/min-available": "2",
    }
    found = document("list", tmp_path, [*NODES, alone, foreign, annotated])

    assert {"team/alone": "Pod", "team/koord": "PodGroup"} == {
        f"{each['namespace']}/{each['name']}": each["kind"] for each in found["items"]
    }


def test_a_gang_without_members_waits_for_them(tmp_path: Path) -> None:
    group, *_ = gang("empty", 2)
    (found,) = document("list", tmp_path, [*NODES, group])["items"]

    assert ("Waiting", "WaitingForMembers", 2) == (
        found["state"],
        found["reason"],
        found["members"],
    )


def test_room_that_is_there_is_reported(tmp_path: Path) -> None:
    (found,) = document("list", tmp_path, [*NODES, *gang("soon", 3)])["items"]

    assert ("Waiting", "NextCycle") == (found["state"], found["reason"])


def test_elastic_gangs_show_their_workers(tmp_path: Path) -> None:
    elastic = {"py-gang-scheduler.io/elastic": '{"minWorkers": 2, "maxWorkers": 4}'}
    bodies = [*NODES, *gang("grows", 2, nodes=["node-0", "node-1"], annotations=elastic)]

    assert {"now": 2, "max": 4} == document("list", tmp_path, bodies)["items"][0]["workers"]
    heading, row, *_ = asked("list", tmp_path, bodies).stdout.splitlines()
    assert ("WORKERS" in heading, " 2/4 " in row) == (True, True)


def test_queues_are_named(tmp_path: Path) -> None:
    bodies = [*NODES, queue("blue", 8), *gang("waits", 2, queue="blue")]
    (found,) = document("list", tmp_path, bodies)["items"]

    assert "blue" == found["queue"]
    assert " blue " in asked("list", tmp_path, bodies).stdout


def test_a_watch_prints_a_header_and_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter([None, None, KeyboardInterrupt])

    def slept(_: float) -> None:
        if (error := next(rounds)) is not None:
            raise error

    monkeypatch.setattr("time.sleep", slept)
    result = asked("list", tmp_path, CLUSTER, "--watch")

    assert 130 == result.exit_code
    assert 1 == result.stdout.count("1 running, 2 waiting, 8 of 24 GPUs idle")
    assert 1 == result.stdout.count("team/waits")


def test_a_gang_of_each_state_has_its_line(tmp_path: Path) -> None:
    starting = gang("starting", 1, nodes=["node-0"], gpus=1)
    starting[1]["status"]["phase"] = "Pending"
    done: list[Any] = gang("done", 1, nodes=["node-1"], gpus=1)
    done[1]["status"]["phase"] = "Succeeded"
    failed = gang("failed", 1, nodes=["node-1"], gpus=1)
    failed[1]["status"]["phase"] = "Failed"
    found = document("list", tmp_path, [*NODES, *starting, *done, *failed])

    assert {"starting": "Starting", "done": "Finished", "failed": "Failed"} == {
        each["name"]: each["state"] for each in found["items"]
    }


def manifests() -> list[Path]:
    """Return the directories of examples, and the manifests of others."""
    project = Path(__file__).parents[3]
    examples = [path.parent for path in project.glob("examples/*/expected.toml")]
    return sorted([*examples, *project.glob("tests/conformance/manifests/**/*.yaml")])


@pytest.mark.parametrize("path", manifests(), ids=lambda path: path.name)
def test_a_gang_of_each_source_and_kind_has_a_line(path: Path) -> None:
    simulated = CliRunner().invoke(main, ["simulate", "-f", str(path), "-o", "json"])
    if simulated.exit_code:
        pytest.skip("is not read by itself")
    result = CliRunner().invoke(main, ["list", "-f", str(path), "-o", "json"])

    found = json.loads(result.stdout)
    hold(found)
    assert {each["gang"] for each in json.loads(simulated.stdout)["gangs"]} == set(names(found))


def test_with_starts_there_is_always_a_column_for_them(tmp_path: Path) -> None:
    incomplete, fits = gang("incomplete", 2)[:2], gang("fits", 1)
    heading, *lines = asked(
        "list", tmp_path, [*CLUSTER, *incomplete, *fits], "--start"
    ).stdout.splitlines()

    at = heading.index("START")
    found = {line.split()[0]: line[at:].split()[0] for line in lines[:4]}
    without = {"team/waits": "unknown", "other/later": "unknown", "team/incomplete": "-"}
    assert {"team/fits": "now", **without} == found
    assert "START" not in asked("list", tmp_path, CLUSTER).stdout


def test_on_a_narrow_page_whole_words_are_left_and_wide_cuts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [*NODES, *gang("a-gang-with-a-name-that-is-longer-than-many", 1, gpus=9)]

    (uncut,) = asked("list", tmp_path, long).stdout.splitlines()[1:2]
    monkeypatch.setenv("COLUMNS", "100")
    (line,) = asked("list", tmp_path, long).stdout.splitlines()[1:2]

    assert uncut.endswith("(Unschedulable: asks 9 nvidia.com/gpu, nodes have 8)")
    assert line.endswith("(Unschedulable: asks 9...")
    assert "the largest node has 8" in asked("list", tmp_path, long, "-o", "wide").stdout


def test_what_waits_suspended_has_a_line_as_if_it_had_its_pods(tmp_path: Path) -> None:
    waiting = suspended_jobs.job("large", 50, namespace="team")
    asks = waiting["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    asks["nvidia.com/gpu"] = "2"

    (found,) = document("list", tmp_path, [*NODES, queue("q", 8), waiting])["items"]

    assert ("team/large", "Job", "Waiting", 50, 100) == (
        *(f"{found['namespace']}/{found['name']}", found["kind"], found["state"]),
        *(found["members"], found["gpus"]),
    )


def test_a_watch_marks_the_lines_that_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [node("node-3"), node("node-4")]
    rounds = iter([[*CLUSTER, *more], [*CLUSTER, *more], None])

    def slept(_: float) -> None:
        bodies = next(rounds)
        if bodies is None:
            raise KeyboardInterrupt
        written(tmp_path, bodies)

    monkeypatch.setattr("time.sleep", slept)
    lines = asked("list", tmp_path, CLUSTER, "--watch").stdout.splitlines()

    marked = [line for line in lines if line.startswith("* ")]
    assert ["team/waits", "other/later"] == [line.split()[1] for line in marked]
    assert "NextCycle" in marked[0]
    assert 2 == sum(line.startswith("  team/runs ") for line in lines)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--state", "PD"], "--state: pd is none; there are Waiting, Starting, Running"),
        (["--state", "Waitin"], "--state: waitin is none; did you mean Waiting?"),
        (["--state", "Running,Pending"], "--state: pending is none; "),
        (["--reason", "Unschedulabel"], "did you mean Unschedulable?"),
        (["--reason", "waiting-for-quota"], "did you mean WaitingForQuota or "),
        (["--reason", "typo"], "--reason: typo is none; there are AdmissionDenied"),
    ],
)
def test_a_word_that_no_gang_is_listed_with_is_refused(
    tmp_path: Path, options: list[str], said: str
) -> None:
    result = asked("list", tmp_path, [node("n")], *options)

    assert 2 == result.exit_code
    assert said in result.stderr


def local_queue(name: str, namespace: str, of: str) -> Body:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": of},
    }


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--queue", "blu"], 3, 'queue "blu" not found; did you mean blue?'),
        (["--queue", "BLEU"], 3, 'queue "bleu" not found; did you mean blue?'),
        (["--queue", "blue,nosuch"], 3, 'queue "nosuch" not found; there are blue, cq, none, red'),
        (["--queue", "blue", "--queue", "x", "-o", "json"], 3, 'queue "x" not found; there are'),
        (["--queue", "users"], 2, "--queue: users is a LocalQueue of cq: --queue cq"),
        (["-n", "teem"], 3, 'namespaces "teem" not found; did you mean team?'),
        (["-n", "nosuch"], 3, 'namespaces "nosuch" not found; there are other, team'),
        (["-n", "nosuch", "-o", "name"], 3, 'namespaces "nosuch" not found; there are'),
    ],
)
def test_what_does_not_exist_is_said_and_not_an_empty_list(
    tmp_path: Path, options: list[str], status: int, said: str
) -> None:
    cluster_queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "cq"},
        "spec": {},
    }
    queues = [queue("red", 8), queue("blue", 8), cluster_queue, local_queue("users", "team", "cq")]
    result = asked("list", tmp_path, [*CLUSTER, *queues], *options)

    assert (status, "") == (result.exit_code, result.stdout)
    assert said in result.stderr


@pytest.mark.parametrize("options", [["--queue", "blue"], ["--queue", "none"], ["-n", "team"]])
def test_a_queue_that_is_empty_is_no_mistake(tmp_path: Path, options: list[str]) -> None:
    cluster = [*CLUSTER, queue("blue", 8)]

    assert 0 == asked("list", tmp_path, cluster, *options).exit_code


def test_gangs_that_are_there_and_not_listed_are_counted(tmp_path: Path) -> None:
    found = asked("list", tmp_path, CLUSTER, "-n", "team", "--state", "failed").stdout

    assert "none of the 2 gangs in namespace team matches the options" == (found.splitlines()[0])


def ended(name: str, phase: str) -> list[Body]:
    bodies = gang(name, 2, nodes=["node-0", "node-1"], gpus=1)
    for each in bodies[1:]:
        each["status"]["phase"] = phase
    return bodies


def test_one_state_has_one_word_in_every_answer(tmp_path: Path) -> None:
    part = gang("part", 2, nodes=["node-0"], gpus=1)
    bound = ended("bound", "Pending")
    empty, *_ = gang("empty", 2)
    cluster = [
        *NODES,
        *gang("room", 1, gpus=1),
        *gang("never", 9),
        *gang("runs", 2, nodes=["node-0", "node-1"], gpus=1),
        *part,
        *bound,
        empty,
        *ended("done", "Succeeded"),
        *ended("broken", "Failed"),
    ]
    listed = {each["name"]: each["state"] for each in document("list", tmp_path, cluster)["items"]}

    explained = {name: document("explain", tmp_path, cluster, f"team/{name}") for name in listed}

    of_phase = {"Scheduled": "Starting", "Running": "Running", "Finished": "Finished"}
    of_phase |= {"Failed": "Failed"}
    assert {"room", "never", "runs", "part", "bound", "empty", "done", "broken"} == listed.keys()
    assert {"Waiting", "Starting", "Running", "Finished", "Failed"} == {*listed.values()}
    for name, found in explained.items():
        assert listed[name] == found["state"] == of_phase.get(found["phase"], "Waiting"), name
        assert found["verdict"] is None or found["state"] in ("Waiting", "Running"), name
    assert "Starts" == explained["room"]["verdict"]
    assert "Waits" == explained["never"]["verdict"]


def test_an_unreadable_start_is_not_reported(tmp_path: Path) -> None:
    group, *_ = gang("a", 2)
    group["status"] = {"queue": {"name": "q", "position": 1, "estimatedStart": "soon"}}

    (item,) = document("list", tmp_path, [group])["items"]

    assert ("Waiting", None) == (item["state"], item["start"])


def test_gangs_with_roles_show_how_many_of_each_have_nodes(tmp_path: Path) -> None:
    volcano = {"volcano.sh/task-spec": "worker", "scheduling.k8s.io/group-name": "v"}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "v", "namespace": "team"},
        "spec": {"minMember": 2, "minTaskMember": {"worker": 2}},
    }
    members = [pod(f"w-{number}", labels=volcano) for number in range(2)]
    for each in members:
        each["metadata"]["annotations"] = volcano

    heading, row, *_ = asked("list", tmp_path, [*NODES, group, *members]).stdout.splitlines()
    assert ("ROLES" in heading, "worker 0/2" in row) == (True, True)
