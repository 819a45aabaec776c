"""Topologies of the input make the trees of the simulated cluster, or say why they do not."""

import pytest

from gang_scheduler.model.layers import Layer
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import Objects, UnreadableInput
from gang_scheduler.simulation.run import Options, simulate
from gang_scheduler.state.cache import Cache

LAYERS = """
  - {topologyLayer: NodeTopologyLayer, parentTopologyLayer: Spine}
  - {topologyLayer: Spine, labelKey: [spine]}
"""
DEFAULT = f"""
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: ClusterNetworkTopology
metadata: {{name: default}}
spec:
  networkTopologySpec:{LAYERS}"""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {spine: s1, rack: r1}}}"


def kueue(
    version: str = "v1beta2", name: str = "default", levels: str = "[{nodeLabel: rack}]"
) -> str:
    rest = f"metadata: {{name: {name}}}, spec: {{levels: {levels}}}"
    return f"{{apiVersion: kueue.x-k8s.io/{version}, kind: Topology, {rest}}}"


def loaded(*texts: str) -> Objects:
    return objects.load(documents.parse("f", "\n---\n".join(texts)), "ours")


def cache_of(*texts: str) -> Cache:
    return simulate(loaded(*texts), Options(Policy(scheduler_names=("ours",)))).cache


def trees(*texts: str) -> list[str]:
    return [tree_spec.name for tree_spec in cache_of(*texts).topologies.tree_specs()]


def domain(*texts: str) -> str:
    return str(cache_of(*texts).domain_of(["n1"]))


def test_the_default_makes_the_first_tree_wherever_it_stands() -> None:
    expected = ["ClusterNetworkTopology default", "Topology a", "Topology default"]

    assert expected == trees(kueue(), DEFAULT, kueue(name="a"))


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1", "v1alpha1"])
def test_topologies_of_kueue_are_read_in_every_version(version: str) -> None:
    (tree_spec,) = cache_of(kueue(version)).topologies.tree_specs()

    assert Layer("rack", "", ("rack",)) == tree_spec.layers[0]


def test_nodes_and_topologies_may_come_in_any_order() -> None:
    before, after = domain(NODE, DEFAULT), domain(DEFAULT, NODE)

    assert ("NodeTopologyLayer/s1/n1", before) == (before, after)


def test_topologies_may_be_in_a_list() -> None:
    items = f"[{kueue()}, {kueue(name='a')}]"

    assert ["Topology a", "Topology default"] == trees(
        f"{{apiVersion: v1, kind: List, items: {items}}}"
    )


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            DEFAULT.replace("Spine}", "spine}"),
            (
                'ClusterNetworkTopology default: parentTopologyLayer "spine" of layer '
                '"NodeTopologyLayer" is no layer of the spec; no tree is made of it'
            ),
        ),
        (
            DEFAULT.replace("name: default", "name: other"),
            (
                "ClusterNetworkTopology other: "
                'only the ClusterNetworkTopology named "default" is used'
            ),
        ),
        (
            kueue(levels="[{nodeLabel: a}, {nodeLabel: a}]"),
            (
                "Topology default: spec.levels[1].nodeLabel must differ from the keys of "
                'the layers above (it is "a"); no tree is made of it'
            ),
        ),
        (
            kueue(levels="[]"),
            "Topology default: spec.levels must name a label of the nodes; no tree is made of it",
        ),
    ],
)
def test_what_makes_no_tree_is_noted_and_nothing_else_is_held_up(text: str, note: str) -> None:
    found = loaded(NODE, text)

    assert (f"f: document 2: {note}",) == found.notes
    assert (
        ()
        == simulate(found, Options(Policy(scheduler_names=("ours",)))).cache.topologies.tree_specs()
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            DEFAULT.replace("[spine]", "spine"),
            'spec.networkTopologySpec[1].labelKey must be a list, not "spine"',
        ),
        (
            DEFAULT.replace("parentTopologyLayer: Spine", "parentTopologyLayer: 7"),
            "spec.networkTopologySpec[0].parentTopologyLayer must be a string, not 7",
        ),
        (kueue(levels="rack"), 'spec.levels must be a list, not "rack"'),
        (
            kueue(levels="[{nodeLabel: 7}]"),
            "spec.levels[0].nodeLabel must be a string, not 7",
        ),
        (
            kueue("v1"),
            (
                "apiVersion must be kueue.x-k8s.io/v1beta2 or kueue.x-k8s.io/v1beta1 or "
                'kueue.x-k8s.io/v1alpha1 for a Topology, not "kueue.x-k8s.io/v1"'
            ),
        ),
    ],
)
def test_a_wrong_type_is_refused_by_field(text: str, problem: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded(text)

    assert (f"f: document 1: {problem}",) == caught.value.lines


def test_one_object_in_two_versions_is_there_twice() -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded(kueue("v1beta2"), kueue("v1beta1"))

    expected = "f: document 2: Topology default is in f: document 1 already, and they differ"
    assert (expected,) == caught.value.lines
