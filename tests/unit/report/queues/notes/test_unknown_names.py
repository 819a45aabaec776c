"""Names in Queues that nothing is called by."""

from typing import Any

from gang_scheduler.decode.queues import ours
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.resources import NO_RULES, RequestRules, Transformation
from gang_scheduler.report.queues import notes
from support.builders import node

RESOURCES = frozenset({"cpu", "gpu", "nvidia.com/gpu"})


def noted(**spec: Any) -> tuple[str, ...]:
    queue = ours.queue({"metadata": {"name": "a", "uid": "u"}, "spec": spec}).queue
    return notes.unknown_name_notes(queue, {"a", "research"}, RESOURCES)


def test_unknown_names_of_queues_are_reported() -> None:
    assert (
        "spec.borrowing.allowedQueues: no queue is called nobody",
        "spec.borrowing.allowedQueues: no queue is called reserch (did you mean research?)",
        "spec.preemption.allowPreemptFrom: no queue is called x",
    ) == noted(
        borrowing={"enabled": True, "allowedQueues": ["reserch", "nobody", "a", "root"]},
        preemption={"allowPreemptFrom": ["none", "x"]},
    )


def test_resources_that_no_node_has_are_reported() -> None:
    quota = {"soft": {"cpu": 1, "gpu": 1}, "hard": {"nvidia.com/gpus": "8"}}

    meant = "no node has nvidia.com/gpus (did you mean nvidia.com/gpu?)"
    assert (f"spec.quota: {meant}",) == noted(quota=quota)
    flavors = [{"name": "f"}, {"name": "g", "quota": quota}]
    assert (f"spec.flavors[1].quota: {meant}",) == noted(flavors=flavors)


def test_no_resources_are_reported_while_there_are_no_nodes() -> None:
    queue = ours.queue({"metadata": {"name": "a"}, "spec": {"quota": {"soft": {"x": 1}}}}).queue

    assert () == notes.unknown_name_notes(queue, ["a"], notes.counted(NodeTable([]), NO_RULES))


def test_what_requests_count_as_is_known() -> None:
    rules = RequestRules({"a.com/slice": Transformation((("a.com/units", 2),))})

    found = notes.counted(NodeTable([node("n", cpu=1)]), rules)

    assert {"a.com/units", "cpu", "gpu"} <= found
