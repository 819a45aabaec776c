"""nodeSelector and required node affinity.

Semantics of kube-scheduler's NodeAffinity: terms are alternatives, the requirements of a term
must all hold, an empty term matches nothing, and a comparison with what is no integer is false.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from gang_scheduler.model.nodes import ABSENT, BoolArray, LabelColumn, NodeTable
from gang_scheduler.model.pods import Ask, NodeTerm, Operator, Requirement

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def passes(ask: Ask, nodes: NodeTable) -> BoolArray:
    """Return the nodes with the wanted labels and names."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    for key, value in ask.node_selector:
        allowed &= nodes.label(key).matches([value])
    if ask.affinity is not None:
        allowed &= _any_term(ask.affinity, nodes)
    return allowed


def reasons(_ask: Ask, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """One reason for all."""
    return Counter({"node(s) didn't match Pod's node affinity/selector": int(rejected.sum())})


def _any_term(terms: tuple[NodeTerm, ...], nodes: NodeTable) -> BoolArray:
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        if term:
            allowed |= np.logical_and.reduce([_holds(each, nodes) for each in term])
    return allowed


def _holds(requirement: Requirement, nodes: NodeTable) -> BoolArray:
    column = _names(nodes) if requirement.on_field else nodes.label(requirement.key)
    return TESTS[requirement.operator](column, requirement.values)


def _names(nodes: NodeTable) -> LabelColumn:
    return LabelColumn(np.arange(len(nodes)), tuple(node.name for node in nodes.nodes))


def _compare(column: LabelColumn, values: tuple[str, ...], *, greater: bool) -> BoolArray:
    bound = _integer(values[0]) if len(values) == 1 else None
    if bound is None:
        return np.zeros(len(column.codes), dtype=np.bool_)
    numbers = ((value, _integer(value)) for value in column.values)
    return column.matches(
        value
        for value, number in numbers
        if number is not None and (number > bound if greater else number < bound)
    )


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


TESTS: Mapping[Operator, Callable[[LabelColumn, tuple[str, ...]], BoolArray]] = {
    Operator.IN: lambda column, values: column.matches(values),
    Operator.NOT_IN: lambda column, values: ~column.matches(values),
    Operator.EXISTS: lambda column, _: column.codes != ABSENT,
    Operator.DOES_NOT_EXIST: lambda column, _: column.codes == ABSENT,
    Operator.GT: lambda column, values: _compare(column, values, greater=True),
    Operator.LT: lambda column, values: _compare(column, values, greater=False),
}
