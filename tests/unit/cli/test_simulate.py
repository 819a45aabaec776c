"""`simulate` on the command line: exit statuses, output and errors as users see them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gang_scheduler.cli import main
from support import yaml_texts

MANIFESTS = """
{kind: Node, apiVersion: v1, metadata: {name: n}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: b},
 spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: a},
 spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}
"""

DOCUMENT = {
    "apiVersion": "py-gang-scheduler.io/v1alpha1",
    "kind": "Simulation",
    "bindings": [{"pod": "default/b", "node": "n", "gang": "default/b"}],
    "nominations": [],
    "victims": [],
    "unschedulable": [
        {
            "gang": "default/a",
            "pods": ["default/a"],
            "reason": "Unschedulable",
            "message": "Needs a node with 2 free cpu, and none has them. It would fit the empty "
            "cluster: it waits for other pods to end. 0/1 nodes are available: 1 Insufficient cpu.",
        }
    ],
    "gangs": [
        {
            "gang": "default/b",
            "phase": "Scheduled",
            "minMember": 1,
            "members": 1,
            "scheduled": 1,
            "domain": None,
        },
        {
            "gang": "default/a",
            "phase": "Scheduling",
            "minMember": 1,
            "members": 1,
            "scheduled": 0,
            "domain": None,
        },
    ],
}


def simulated(*options: str, text: str = MANIFESTS) -> Result:
    return CliRunner().invoke(main, ["simulate", "-f", "-", *options], input=text)


def test_json_is_the_document_with_lists_in_the_order_of_decisions() -> None:
    result = simulated("-o", "json")

    assert (0, DOCUMENT) == (result.exit_code, json.loads(result.stdout))
    assert list(DOCUMENT) == list(json.loads(result.stdout))


def test_yaml_is_the_same_document() -> None:
    assert DOCUMENT == yaml_texts.read(simulated("-o", "yaml").stdout)


def test_the_default_is_a_table() -> None:
    assert simulated().stdout.startswith("GANG       PRI  STATE ")


def test_the_same_input_gives_the_same_bytes() -> None:
    assert simulated("-o", "json").stdout_bytes == simulated("-o", "json").stdout_bytes


def test_waiting_gangs_fail_the_command_only_on_demand() -> None:
    options: list[list[str]] = [[], ["--fail-on-unschedulable"]]

    assert [0, 1] == [simulated(*each).exit_code for each in options]


def test_unreadable_input_is_status_2_and_a_line_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("{kind: pod, apiVersion: v1}\n---\nhello\n")
    result = CliRunner().invoke(main, ["simulate", "-f", str(file)])

    lines = (
        f'{file}: document 1: kind must be Pod, not "pod"',
        f'{file}: document 2: the document must be an object, not "hello"',
    )
    assert (2, "", lines) == (result.exit_code, result.stdout, tuple(result.stderr.splitlines()))


def test_what_is_skipped_is_said_on_stderr_only() -> None:
    result = simulated("-o", "json", text="{kind: Secret, apiVersion: v1}")

    lines = [
        "<stdin>: document 1: Secret (v1) is not needed; skipped",
        "the input has no nodes",
        "the input has no pods",
    ]
    assert (0, lines) == (result.exit_code, result.stderr.splitlines())


def test_workloads_without_their_pods_fail_the_command_on_demand() -> None:
    text = (
        "{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: d}, spec: {"
        "selector: {matchLabels: {a: b}}, "
        "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}}"
    )
    options: list[list[str]] = [[], ["--fail-on-unschedulable"]]

    assert [0, 1] == [simulated(*each, text=text).exit_code for each in options]


def test_a_pod_without_a_scheduler_name_can_be_another_schedulers() -> None:
    result = simulated("-o", "json", "--no-assume-scheduler-name")

    line = "none of the 2 pods in the input has schedulerName py-gang-scheduler\n"
    assert ([], line) == (json.loads(result.stdout)["bindings"], result.stderr)


def test_a_setting_that_decides_is_a_flag_of_simulate() -> None:
    low = MANIFESTS.replace("{name: b}", "{name: b, uid: u}").replace(
        "spec: {", "spec: {schedulerName: py-gang-scheduler, nodeName: n, ", 1
    )
    text = low.replace("{name: a},\n spec: {", "{name: a},\n spec: {priority: 9, ")
    options: list[list[str]] = [[], ["--no-preemption"], ["--min-priority-difference", "10"]]
    found = (json.loads(simulated("-o", "json", *each, text=text).stdout) for each in options)

    assert [1, 0, 0] == [len(each["victims"]) for each in found]


QUEUED = f"""{MANIFESTS}
---
apiVersion: py-gang-scheduler.io/v1alpha1
kind: Queue
metadata: {{name: a}}
spec: {{quota: {{soft: {{cpu: 4}}}}}}
"""


@pytest.mark.parametrize(
    ("flags", "waits"),
    [([], False), (["--require-queue"], True), (["--require-queue=other"], False)],
)
def test_a_queue_is_required_in_all_namespaces_where_none_is_given(
    flags: list[str], *, waits: bool
) -> None:
    document = json.loads(simulated("-o", "json", *flags, text=QUEUED).stdout)

    assert waits == ("QueueNotFound" in json.dumps(document))


def test_a_flag_of_simulate_that_is_wrong_is_named_with_its_value() -> None:
    result = simulated("--strategy", "tight")

    line = "--strategy: input should be 'binpack' or 'spread', not \"tight\"\n"
    assert (2, line) == (result.exit_code, result.stderr)


def test_a_time_that_is_none_is_named() -> None:
    result = simulated("--at", "noon")

    line = '--at: must be a time such as 2024-05-01T12:00:00Z, not "noon"\n'
    assert (2, line) == (result.exit_code, result.stderr)


def test_other_scheduler_names_can_be_adopted() -> None:
    text = MANIFESTS.replace("spec: {", "spec: {schedulerName: volcano, ")

    bound = [
        len(json.loads(simulated("-o", "json", *options, text=text).stdout)["bindings"])
        for options in ([], ["--scheduler-name", "volcano"])
    ]
    assert [0, 1] == bound


def test_several_files_are_one_input(tmp_path: Path) -> None:
    node, *pods = MANIFESTS.split("---")
    (tmp_path / "node.yaml").write_text(node)
    (tmp_path / "pods.yaml").write_text("---".join(pods))
    files = ["-f", str(tmp_path / "pods.yaml"), "-f", str(tmp_path / "node.yaml")]
    result = CliRunner().invoke(main, ["simulate", "-o", "json", *files])

    assert DOCUMENT == json.loads(result.stdout)


BY_FIELD = """
{kind: Job, apiVersion: batch/v1, metadata: {name: j}, spec: {SPEC
 template: {spec: {restartPolicy: POLICY, containers: [{name: c}]}}}}
"""


def job(policy: str = "Never", spec: str = "") -> str:
    """Return a Job with its restartPolicy, and with what else its spec has."""
    return BY_FIELD.replace("POLICY", policy).replace("SPEC", spec)


def test_what_the_api_server_refuses_is_bad_input_unless_it_is_not_asked() -> None:
    options: list[list[str]] = [[], ["--strict"], ["--no-strict"]]
    found = [simulated(*each, text=job("Always")) for each in options]

    assert [2, 2, 0] == [each.exit_code for each in found]
    where = "<stdin>: document 1: spec.template.spec.restartPolicy"
    assert f'{where} must be Never or OnFailure, not "Always"' in found[0].stderr


def test_a_field_that_is_unknown_is_named_and_fails_the_command_on_demand() -> None:
    options: list[list[str]] = [[], ["--fail-on-unschedulable"], ["--no-strict"]]
    text = MANIFESTS.split("---", maxsplit=1)[0] + "---" + job(spec="paralelism: 2,")
    found = [simulated(*each, text=text) for each in options]

    assert [0, 1, 0] == [each.exit_code for each in found]
    said = "<stdin>: document 2: unknown field spec.paralelism (did you mean parallelism?)"
    assert [True, True, False] == [said in each.stderr for each in found]


def test_what_an_api_server_has_stored_is_not_looked_at_again() -> None:
    stored = job("Always", "fieldOfTomorrow: 1,").replace("name: j", "name: j, uid: u")

    assert 0 == simulated(text=stored).exit_code
    assert "unknown field" not in simulated(text=stored).stderr


def test_what_is_made_of_a_kind_of_others_is_held_against_the_schemas_once() -> None:
    text = """
    {kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, metadata: {name: s}, spec: {
     replicatedJobs: [{name: w, replicas: 3, template: {spec: {paralelism: 2, template: {
      spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: GPUS}}}]}}}}}]}}
    """
    right, wrong = (simulated(text=text.replace("GPUS", each)) for each in ("1", "0.5"))

    assert (0, 1) == (right.exit_code, right.stderr.count("unknown field"))
    assert 2 == wrong.exit_code
    assert "resources.limits[nvidia.com/gpu] must be a whole number" in wrong.stderr


def test_a_pod_without_the_limit_that_it_needs_is_reported() -> None:
    text = MANIFESTS.replace("cpu: 2}}}", "nvidia.com/gpu: 1}}}")

    assert (
        "<stdin>: 2 pods with a request for nvidia.com/gpu and no limit"
        in simulated(text=text).stderr
    )
