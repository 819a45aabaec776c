"""Manifests in, decisions out, by the code of `simulate`; with a check of what was decided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects, output_document
from gang_scheduler.simulation.run import Options, simulate
from property import oracle
from support import yaml_texts
from support.builders import SCHEDULER

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What was decided. `bound` is pod name to node name, in the order of the decisions."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]
    bound: Mapping[str, str]
    nominated: Mapping[str, str]
    """Pod name to node name, like `bound`."""
    victims: frozenset[str]
    refused: Mapping[str, tuple[str, str]]
    """Pod name to reason and message."""

    def over_committed(self) -> list[str]:
        """Return the pods whose node does not take them beside the others, once victims left."""
        nodes = {**self.bound, **self.nominated}
        return [name for name, node in nodes.items() if not self._accepted(name, node)]

    def _accepted(self, name: str, node: str) -> bool:
        others = [
            pod.pod_class
            for pod in self.pods.values()
            if pod.name != name and self._on(pod) == node
        ]
        return oracle.accepts(self.nodes[node], others, self.pods[name].pod_class)

    def _on(self, pod: Pod) -> str:
        if pod.terminal or pod.deleting or pod.name in self.victims:
            return ""
        return {**self.bound, **self.nominated}.get(pod.name, pod.node)


def decide(manifests: Iterable[Body]) -> Outcome:
    """Return what one cycle decides."""
    text = yaml_texts.written_all([*manifests])
    found = objects.load(documents.parse("case", text), SCHEDULER)
    decoded_objects = [each.decoded for each in found.loaded]
    decided = output_document.document(
        simulate(found, Options(Policy(scheduler_names=(SCHEDULER,))))
    )
    return Outcome(
        nodes={each.name: each for each in decoded_objects if isinstance(each, Node)},
        pods={each.name: each for each in decoded_objects if isinstance(each, Pod)},
        bound={_short(each["pod"]): each["node"] for each in decided["bindings"]},
        nominated={_short(each["pod"]): each["node"] for each in decided["nominations"]},
        victims=frozenset(_short(each["pod"]) for each in decided["victims"]),
        refused={
            _short(pod): (each["reason"], each["message"])
            for each in decided["unschedulable"]
            for pod in each["pods"]
        },
    )


def _short(key: str) -> str:
    return key.partition("/")[2]
