"""Nodes as columns: in natural order, over all resources, and derived from once."""

from dataclasses import replace

from gang_scheduler.model.nodes import ABSENT, NodeTable
from support.builders import GPU, node, taint
from support.call_counts import calls_of


def test_nodes_are_in_natural_order() -> None:
    table = NodeTable([node("n10"), node("n9"), node("n1")])

    assert ["n1", "n9", "n10"] == [each.name for each in table.nodes]
    assert {"n1": 0, "n9": 1, "n10": 2} == table.rows


def test_the_axis_is_every_resource_that_any_node_offers() -> None:
    table = NodeTable([node("n1", memory=0), node("n2", gpu=8, cpu=4)])

    assert ("cpu", "memory", GPU, "pods") == table.resources
    assert [[8000, 0, 0, 110], [4000, 32 * 2**30, 8, 110]] == table.allocatable.tolist()


def test_the_allocatable_amounts_cannot_be_written() -> None:
    assert not NodeTable([node("n1")]).allocatable.flags.writeable


def test_a_vector_leaves_out_what_no_node_offers() -> None:
    table = NodeTable([node("n1", memory=0)])

    assert [500, 1] == table.vector([("cpu", 500), (GPU, 4), ("pods", 1)]).tolist()


def test_states_are_columns() -> None:
    table = NodeTable([node("n1", ready=False), node("n2", unschedulable=True)])

    assert [False, True] == table.ready.tolist()
    assert [False, True] == table.unschedulable.tolist()


def test_a_label_is_a_column_of_codes() -> None:
    table = NodeTable(
        [node("n1", labels={"zone": "b"}), node("n2"), node("n3", labels={"zone": ""})]
    )

    column = table.label("zone")

    assert ("b", "") == column.values
    assert [0, ABSENT, 1] == column.codes.tolist()


def test_a_label_matches_any_of_the_wanted_values() -> None:
    table = NodeTable([node(f"n{i}", labels={"zone": zone}) for i, zone in enumerate("abca")])

    assert [True, False, True, True] == table.label("zone").matches(["c", "a", "x"]).tolist()


def test_a_label_that_no_node_has_matches_nothing() -> None:
    table = NodeTable([node("n1"), node("n2")])

    assert [False, False] == table.label("zone").matches(["", "a"]).tolist()


def test_nodes_with_equal_taints_share_a_code() -> None:
    infra = ["dedicated=infra:NoSchedule"]
    table = NodeTable([node("n1", taints=infra), node("n2"), node("n3", taints=infra)])

    codes, sets = table.taint_sets()

    assert [0, 1, 0] == codes.tolist()
    assert ((taint(infra[0]),), ()) == sets


def test_what_is_derived_is_computed_once() -> None:
    table = NodeTable([node("n1")])
    answers = iter(["first", "second"])

    found = [table.cached("key", lambda: next(answers)) for _ in range(2)]

    assert ["first", "first"] == found


def test_a_derived_nothing_is_computed_once_too() -> None:
    table = NodeTable([node("n1")])
    answers = iter([None, "second"])

    found = [table.cached("key", lambda: next(answers)) for _ in range(2)]

    assert [None, None] == found


def test_a_table_of_no_nodes_has_no_rows() -> None:
    table = NodeTable([])

    assert (0, (), (0, 0)) == (len(table), table.resources, table.allocatable.shape)
    assert [] == table.label("zone").codes.tolist()


def test_without_refusals_nodes_are_offered_what_they_were() -> None:
    refusing = replace(node("n1"), refused=(((("cpu", 1),), "OutOfcpu"),))
    table = NodeTable([refusing], {"example.com/gpu": "gpu"})

    found = table.refusing_nothing()

    assert () == found.nodes[0].refused
    assert {"example.com/gpu": "gpu"} == found.device_classes


def test_rows_of_nodes_that_did_not_change_are_found_in_another_table() -> None:
    same, gone, old = node("n2"), node("n3"), node("n4", cpu=1)
    before = NodeTable([same, gone, old])
    after = NodeTable([node("n1"), same, node("n4", cpu=2)])

    assert [ABSENT, 0, ABSENT] == after.rows_in(before.listed).tolist()
    assert [0, 1, 2] == before.rows_in(before.listed).tolist()


def test_nodes_that_offer_devices_for_other_resources_are_not_the_same() -> None:
    made = [node("n1"), node("n2", gpu=1)]
    plain = NodeTable(made)
    counted = plain.with_devices({GPU: plain.vector([]).repeat(1)[:2]})

    assert [ABSENT, ABSENT] == counted.rows_in(plain.listed).tolist()
    assert [0, 1] == plain.rows_in(NodeTable(made).listed).tolist()


def test_labels_that_no_node_has_share_a_column_made_once() -> None:
    table = NodeTable([node("n1", labels={"zone": "b"}), node("n2")])
    table.label("a")

    made = calls_of(lambda: [table.label(f"none-{number}") for number in range(100)])

    assert 0 == made["nodes.NodeTable._label"]
    assert table.label("a") is table.label("b")
    assert [ABSENT, ABSENT] == table.label("a").codes.tolist()
