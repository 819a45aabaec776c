"""Victims and nominations, as `simulate` shows them and plays them out."""

from typing import Any

import pytest

from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.run import Options, simulate
from support.simulated_pages import page_of

NODE = """
---
{{kind: Node, apiVersion: v1, metadata: {{name: {name}}},
 status: {{allocatable: {{cpu: 4, pods: 110}}}}}}
"""
GANG = """
---
{{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {{name: {name}}},
 spec: {{minMember: {pods}}}}}
"""
POD = """
---
{{kind: Pod, apiVersion: v1,
 metadata: {{name: {name}, {metadata}}},
 spec: {{nodeName: "{node}", priority: {priority},
  containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}, status: {{{status}}}}}
"""
OPTIONS = Options(Policy(scheduler_names=("ours",)))
SETTLED = Options(Policy(scheduler_names=("ours",)), until_settled=True)


def nodes(*names: str) -> str:
    return "".join(NODE.format(name=name) for name in names)


def pod(
    name: str,
    *,
    node: str = "",
    priority: int = 0,
    cpu: int = 2,
    metadata: str = "",
    status: str = "",
) -> str:
    return POD.format(
        name=name, node=node, priority=priority, cpu=cpu, metadata=metadata, status=status
    )


def gang(name: str, pods: int, **fields: Any) -> str:
    """Return a gang with its pods."""
    label = f"labels: {{pod-group.scheduling.sigs.k8s.io: {name}}}"
    members = (pod(f"{name}-{i}", metadata=label, **fields) for i in range(pods))
    return GANG.format(name=name, pods=pods) + "".join(members)


def decided(text: str, options: Options = OPTIONS) -> dict[str, Any]:
    """Return the document for these manifests."""
    return output_document.document(
        simulate(objects.load(documents.parse("f", text), "ours"), options)
    )


FULL = nodes("n1") + gang("low", 2, node="n1", priority=1) + gang("high", 2, priority=9)
VICTIMS = [
    {"pod": f"default/low-{i}", "node": "n1", "gang": "default/low", "preemptor": "default/high"}
    for i in range(2)
]


def test_one_cycle_lists_victims_and_nominations() -> None:
    found = decided(FULL)

    nominations = [
        {"pod": f"default/high-{i}", "node": "n1", "gang": "default/high"} for i in range(2)
    ]
    assert (VICTIMS, nominations) == (found["victims"], found["nominations"])
    assert ([], []) == (found["bindings"], found["unschedulable"])


def test_settled_the_victims_are_gone_and_the_gang_is_bound() -> None:
    found = decided(FULL, SETTLED)

    assert (VICTIMS, []) == (found["victims"], found["nominations"])
    assert ["n1", "n1"] == [each["node"] for each in found["bindings"]]
    phases = {each["gang"]: each["phase"] for each in found["gangs"]}
    assert {"default/low": "Pending", "default/high": "Scheduled"} == phases


def test_a_victim_without_a_gang_says_so() -> None:
    lone = nodes("n1") + pod("lone", node="n1", cpu=4) + gang("high", 2, priority=9)

    (victim,) = decided(lone)["victims"]
    assert ("default/lone", None) == (victim["pod"], victim["gang"])


@pytest.mark.parametrize("priority", [0, 9])
def test_a_pod_that_is_leaving_already_is_no_victim(priority: int) -> None:
    leaving = "deletionTimestamp: 2026-01-01T00:00:00Z"
    text = (
        nodes("n1")
        + pod("old", node="n1", cpu=4, metadata=leaving)
        + gang("high", 2, priority=priority)
    )

    now, settled = decided(text), decided(text, SETTLED)
    assert ([], 2) == (now["victims"], len(now["nominations"]))
    assert ([], [], 2) == (settled["victims"], settled["nominations"], len(settled["bindings"]))


def test_a_nomination_that_is_worth_nothing_holds_no_room_for_ever() -> None:
    stale = "nominatedNodeName: n1"
    text = nodes("n1") + gang("big", 3, priority=9, status=stale) + gang("small", 2, priority=9)

    found = decided(text, SETTLED)
    assert ["default/small-0", "default/small-1"] == [each["pod"] for each in found["bindings"]]
    assert [] == found["nominations"]


EXPECTED = """\
GANG          PRI  STATE    MEMBERS  GPU  TIME  NODES(REASON)
default/high    9  Waiting  0/2        0  -     (WaitingForVictims: 2 pods must leave)
default/low     1  Running  2/2        0  -     n1

VICTIM         NODE  GANG         PREEMPTOR
default/low-0  n1    default/low  default/high
default/low-1  n1    default/low  default/high

NOMINATED       NODE  GANG
default/high-0  n1    default/high
default/high-1  n1    default/high
"""


def test_people_see_which_pods_go_and_which_come() -> None:
    outcome = simulate(objects.load(documents.parse("f", FULL), "ours"), OPTIONS)

    assert page_of(outcome).startswith(EXPECTED)


def test_a_page_is_short_however_many_go() -> None:
    outcome = simulate(objects.load(documents.parse("f", FULL), "ours"), OPTIONS)
    document = output_document.document(outcome)
    document["victims"] = VICTIMS * 30

    assert "\nand 20 more (-o wide)\n" in page_of(outcome, document=document)


JOB = """
---
{{kind: Job, apiVersion: batch/v1, metadata: {{name: {name}}},
 spec: {{parallelism: 8, completions: 8, backoffLimit: {limit},
  template: {{metadata: {{labels: {{py-gang-scheduler.io/gang: "true"}}}},
   spec: {{nodeName: {node}, containers: [{{resources: {{requests: {{cpu: 500m}}}}}}]}}}}}}}}
"""
TWO_JOBS = (
    nodes("n1", "n2")
    + JOB.format(name="a", node="n1", limit=6)
    + JOB.format(name="b", node="n2", limit=8)
)


def test_of_two_jobs_the_one_goes_that_survives_it() -> None:
    found = decided(TWO_JOBS + gang("high", 1, priority=9, cpu=4))

    assert {"default/b"} == {each["gang"] for each in found["victims"]}


@pytest.mark.parametrize(("allowed", "victims"), [(True, 16), (False, 0)])
def test_jobs_that_do_not_survive_it_stay_where_a_setting_says_so(
    *, allowed: bool, victims: int
) -> None:
    options = Options(Policy(scheduler_names=("ours",), preempt_unprotected_jobs=allowed))

    found = decided(TWO_JOBS + gang("high", 2, priority=9, cpu=4), options)

    assert victims == len(found["victims"])


def test_a_job_that_has_failed_gets_no_pods() -> None:
    failed = JOB.format(name="a", node="n1", limit=6).rstrip().removesuffix("}")
    failed += ", status: {failed: 8, conditions: [{type: Failed, status: 'True'}]}}"

    (found,) = decided(nodes("n1") + failed)["gangs"]
    assert 0 == found["members"]


CREATED = "creationTimestamp: 2026-01-01T01:00:00Z"
LEAVING = "creationTimestamp: 2026-01-01T00:00:00Z, deletionTimestamp: 2026-01-01T01:00:30Z"
SPACE = "\n---\n{{kind: Namespace, apiVersion: v1, metadata: {{name: space-{number}}}}}"


@pytest.mark.parametrize("others", [0, 100])
def test_a_pod_that_is_leaving_is_waited_for_however_much_else_there_is(others: int) -> None:
    text = (
        nodes("n1", "n2")
        + pod("leaving", node="n1", cpu=4, metadata=LEAVING)
        + pod("low", node="n2", cpu=4, metadata=CREATED)
        + pod("high", priority=9, cpu=4, metadata=CREATED)
        + "".join(SPACE.format(number=i) for i in range(others))
    )

    found = decided(text)
    assert [] == found["victims"]
    assert ["n1"] == [each["node"] for each in found["nominations"]]
