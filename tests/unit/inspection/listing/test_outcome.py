"""People get narrow tables that can be read without colour."""

import re

import pytest

from gang_scheduler.inspection.listing import queues
from gang_scheduler.inspection.listing.outcome import Look
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.run import Options, simulate
from support.simulated_pages import PIPED, page_of

INPUT = """
{kind: Node, apiVersion: v1, metadata: {name: n-1},
 status: {allocatable: {cpu: 3500m, memory: 8Gi, pods: 110, nvidia.com/gpu: 2}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: train},
 spec: {minMember: 3}}
---
{kind: Pod, apiVersion: v1, metadata: {name: lone},
 spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1536Mi}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: w-0, labels: {pod-group.scheduling.sigs.k8s.io: train}}}
"""

EXPECTED = """\
GANG           PRI  STATE     MEMBERS  GPU  TIME  NODES(REASON)
default/train    0  Waiting   0/3        0  -     (WaitingForMembers)
default/lone     0  Starting  1/1        0  -     n-1

POD           NODE  GANG
default/lone  n-1   default/lone

default/train: WaitingForMembers
  1 of minMember 3 members exist

NODE      CPU     MEMORY   PODS  nvidia.com/gpu
n-1   0.5/3.5  1.5Gi/8Gi  1/110             0/2
"""


MISSPELT = """
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: c4},
 spec: {minMember: 2}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: w-0, labels: {pod-group.scheduling.sigs.k8s.io: c4x}}}
"""


def test_a_gang_without_members_says_so_and_one_without_a_pod_group_has_no_quorum() -> None:
    found = objects.load(documents.parse("f", MISSPELT), Policy().rules.gangs.scheduler_names[0])
    outcome = simulate(found, Options(Policy()))

    page = page_of(outcome)

    rows = [line.split() for line in page.splitlines()]
    assert ["default/c4", "0", "Waiting", "0/2", "0", "-", "(WaitingForMembers)"] in [
        row[:7] for row in rows
    ]
    assert ["default/c4x", "0", "Waiting", "0/1", "0", "-", "(PodGroupNotFound)"] in [
        row[:7] for row in rows
    ]
    assert "\ndefault/c4: WaitingForMembers\n  0 of minMember 2 members exist; pod " in page
    assert ' names PodGroup "c4x", which does not exist: is this one meant?\n' in page


SPINES = """
{kind: ClusterNetworkTopology, apiVersion: scheduling.koordinator.sh/v1alpha1,
 metadata: {name: default}, spec: {networkTopologySpec: [
  {topologyLayer: SpineLayer, labelKey: [spine]},
  {topologyLayer: NodeTopologyLayer, parentTopologyLayer: SpineLayer}]}}
---
{kind: Node, apiVersion: v1, metadata: {name: n1, labels: {spine: s1}},
 status: {allocatable: {cpu: 4, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n2, labels: {spine: s1}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: Node, apiVersion: v1, metadata: {name: n3, labels: {spine: s2}},
 status: {allocatable: {cpu: 8, pods: 110}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1,
 metadata: {name: waits, annotations: {gang.scheduling.koordinator.sh/network-topology-spec:
  '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}'}},
 spec: {minMember: 2}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1,
 metadata: {name: goes, annotations: {gang.scheduling.koordinator.sh/network-topology-spec:
  '{"gatherStrategy": [{"layer": "spineLayer", "strategy": "PreferGather"}]}'}},
 spec: {minMember: 1}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: waits-0, labels: {pod-group.scheduling.sigs.k8s.io: waits}},
 spec: {containers: [{resources: {requests: {cpu: 6}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: waits-1, labels: {pod-group.scheduling.sigs.k8s.io: waits}},
 spec: {containers: [{resources: {requests: {cpu: 6}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: goes-0, labels: {pod-group.scheduling.sigs.k8s.io: goes}},
 spec: {containers: [{resources: {requests: {cpu: 500m}}}]}}
"""

EXPECTED_TREE = """\
default/goes: UnknownLayer (a warning)
  layer "spineLayer" is unknown: the layers are SpineLayer, NodeTopologyLayer; \
did you mean SpineLayer?

ClusterNetworkTopology default (used/all)
DOMAIN                NODES     CPU  default/waits
ClusterTopologyLayer    1/3  0.5/20
  SpineLayer/s1         1/2  0.5/12  1 of 2
    n1                  1/1   0.5/4
    n2                  0/1     0/8
  SpineLayer/s2         0/1     0/8  1 of 2
    n3                  0/1     0/8
"""


def rendered(text: str = INPUT, look: Look = PIPED) -> str:
    found = objects.load(documents.parse("f", text), "py-gang-scheduler")
    outcome = simulate(found, Options(Policy(scheduler_names=("py-gang-scheduler",))))
    return page_of(outcome, look)


def test_a_page_has_gangs_reasons_and_nodes() -> None:
    assert EXPECTED == rendered()


@pytest.mark.parametrize("colored", [False, True])
def test_a_page_has_colour_only_where_that_is_asked_for(*, colored: bool) -> None:
    page = rendered(SPINES, Look(colored=colored))

    assert colored == ("\x1b[33mWaiting" in page) == ("\x1b[33m1 of 2" in page)


def test_a_page_has_the_tree_with_what_it_offers_the_gangs_that_wait() -> None:
    page = rendered(SPINES)

    assert EXPECTED_TREE in page
    assert "\nNODE " not in page


def test_a_gang_in_the_table_is_in_its_domain() -> None:
    (row,) = [line for line in rendered(SPINES).splitlines() if "Starting " in line]

    assert ["n1", "n1"] == row.split()[-2:]


MANY_NODES = "".join(
    f"{{kind: Node, apiVersion: v1, metadata: {{name: n-{i}}}, "
    "status: {allocatable: {cpu: 4, pods: 110}}}\n---\n"
    for i in range(41)
)


def test_many_bindings_are_summed_up_by_gang() -> None:
    page = rendered(MANY_NODES + group_of(41) + single(1))

    assert ["default/g", "41 pods on 11 nodes: n-0 (4), n-1 (4), n-2 (4), n-3 (4), ..."] in cut(
        page
    )
    assert ["default/p-0", "1 pod on 1 node: n-10 (1)"] in cut(page)
    assert ["all 41 nodes", "42/164", "42/4510"] in cut(page)


def test_many_gangs_are_counted_and_those_that_wait_come_first() -> None:
    page = rendered(MANY_NODES + single(164) + single(1, first=900))

    assert ["default/p-900", "0", "Waiting"] == cut(page)[1][:3]
    assert "\nand 125 more: 125 Starting (-o wide)\n" in page
    assert "\nand 124 pods of 124 more gangs (-o wide)\n" in page


def test_a_wide_page_has_every_line() -> None:
    page = rendered(MANY_NODES + single(42), Look(wide=True))

    assert {f"n-{i}" for i in range(41)} <= {row[0] for row in cut(page)}
    assert 2 * 42 == sum(row[0].startswith("default/p-") for row in cut(page))


def cut(page: str) -> list[list[str]]:
    """Return the cells of the lines that have some."""
    return [re.split(" {2,}", line) for line in page.splitlines() if line]


def single(number: int, first: int = 0, labels: str = "{}") -> str:
    """Return pods that ask for a CPU each."""
    return "".join(
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: p-{first + i}, labels: {labels}}}, "
        "spec: {containers: [{resources: {requests: {cpu: 1}}}]}}\n---\n"
        for i in range(number)
    )


def group_of(number: int) -> str:
    group = (
        "{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: g}, "
        f"spec: {{minMember: {number}}}}}\n---\n"
    )
    return group + single(number, 100, "{pod-group.scheduling.sigs.k8s.io: g}")


TWO_OF_ONE_NAME = """
{kind: Node, apiVersion: v1, metadata: {name: n-1}, status: {allocatable: {cpu: 4, pods: 110}}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: train},
 spec: {minMember: 1}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: w-0, labels: {pod-group.scheduling.sigs.k8s.io: train}},
 spec: {containers: [{resources: {requests: {cpu: 1}}}]}}
---
{kind: Pod, apiVersion: v1,
 metadata: {name: large, labels: {pod-group.scheduling.sigs.k8s.io: other}},
 spec: {containers: [{resources: {requests: {cpu: 9}}}]}}
---
{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {name: other},
 spec: {minMember: 1}}
---
{kind: Job, apiVersion: batch/v1,
 metadata: {name: train, labels: {py-gang-scheduler.io/gang: "true"}},
 spec: {parallelism: 2, completions: 2, completionMode: Indexed, template: {
   metadata: {labels: {py-gang-scheduler.io/gang: "true"}},
   spec: {restartPolicy: Never, schedulerName: py-gang-scheduler,
     containers: [{name: c, image: i, resources: {requests: {cpu: 9}}}]}}}}
"""


def test_gangs_of_one_name_are_distinguished_by_their_sources() -> None:
    found = objects.load(
        documents.parse("f", TWO_OF_ONE_NAME), Policy().rules.gangs.scheduler_names[0]
    )
    outcome = simulate(found, Options(Policy()))
    document = output_document.document(outcome)

    page = page_of(outcome)

    rows = {cells[0]: cells for cells in cut(page)[1:4]}
    assert {"default/train (PodGroup)", "default/train (Job)", "default/other"} == set(rows)
    assert ["Starting", "n-1"] == rows["default/train (PodGroup)"][2::4]
    assert "Waiting" == rows["default/train (Job)"][2]
    assert rows["default/train (Job)"][-1].startswith("(Unschedulable: ")
    assert "\ndefault/train (Job): Unschedulable\n" in page
    assert "w-0  n-1   default/train (PodGroup)" in page
    bound = [("default/train", "PodGroup")]
    assert bound == [(each["gang"], each["source"]) for each in document["bindings"]]
    sources = {(each["gang"], each.get("source")) for each in document["unschedulable"]}
    assert {("default/train", "Job"), ("default/other", None)} == sources


LONG = "the-large-language-model-pretraining-of-team-alpha-run-17"
WIDE_INPUT = f"""
{{kind: Node, apiVersion: v1, metadata: {{name: gpu-h100-024.eu-west-1.compute.example.com}},
 status: {{allocatable: {{cpu: 96, memory: 768Gi, pods: 110, nvidia.com/gpu: 8}}}}}}
---
{{kind: PodGroup, apiVersion: scheduling.sigs.k8s.io/v1alpha1, metadata: {{name: {LONG}}},
 spec: {{minMember: 3}}}}
---
{{kind: Pod, apiVersion: v1,
 metadata: {{name: {LONG}-worker-0, labels: {{pod-group.scheduling.sigs.k8s.io: {LONG}}}}}}}
---
{{kind: Pod, apiVersion: v1, metadata: {{name: {LONG}-alone}}, spec: {{containers: [{{}}]}}}}
---
{{kind: Queue, apiVersion: py-gang-scheduler.io/v1alpha1, metadata: {{name: {LONG}}},
 spec: {{quota: {{soft: {{nvidia.com/gpu: 8}}}}}}}}
"""


def seen(width: int, *, wide: bool = False) -> list[str]:
    """Return the lines of the tables on a terminal of a width."""
    return rendered(WIDE_INPUT, Look(width, wide=wide)).splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_cell_is_wrapped_on_a_narrow_terminal(width: int) -> None:
    lines = seen(width)

    headings = [line for line in lines if re.match(r"(GANG|POD|QUEUE|NODE)  ", line)]
    assert ["GANG", "POD", "QUEUE", "NODE"] == [line.split()[0] for line in headings]
    for heading in headings:
        rows = lines[lines.index(heading) + 1 :]
        rows = rows[: rows.index("")] if "" in rows else rows
        rows = [row for row in rows if row not in queues.LEGEND]
        expected = {"GANG": 2, "POD": 1, "QUEUE": 3, "NODE": 1}[heading.split()[0]]
        assert expected == len(rows), rows
        assert all(len(line) <= width for line in (heading, *rows))
    gangs = lines[lines.index(headings[0]) + 1 :][:2]
    assert all(line.startswith("default") for line in gangs)
    assert "(WaitingForMembers" in gangs[0]
    assert "STATE" in headings[0]
    assert "nvidia.com/gpu" in headings[3]


def test_columns_go_by_their_rank_and_a_wide_page_has_all() -> None:
    narrow, wide = seen(60), seen(60, wide=True)

    assert "PRI" not in narrow[0].split()
    assert {*EXPECTED.splitlines()[0].split(), "MIN", "DOMAIN"} <= {*wide[0].split()}
    assert any(f"default/{LONG}-alone" in line for line in wide)
    assert not any(LONG in line for line in narrow if not line.endswith(": WaitingForMembers"))
