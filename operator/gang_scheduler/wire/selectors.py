"""What is read of node selectors and label selectors."""

from msgspec import field

from gang_scheduler.model.affinity.requirements import Operator
from gang_scheduler.wire.structs import Wire


class NodeSelectorRequirement(Wire, frozen=True):
    """An expression of a node selector term."""

    key: str
    operator: Operator
    values: list[str] = field(default_factory=list)


class NodeSelectorTerm(Wire, frozen=True):
    """One of the alternatives of a node selector."""

    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)
    match_fields: list[NodeSelectorRequirement] = field(default_factory=list)


class NodeSelector(Wire, frozen=True):
    """Required node affinity."""

    node_selector_terms: list[NodeSelectorTerm] = field(default_factory=list)


class LabelSelector(Wire, frozen=True):
    """A selector of objects by their labels. An empty selector selects all."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)
