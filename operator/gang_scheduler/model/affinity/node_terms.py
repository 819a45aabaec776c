"""Which nodes the terms of a node selector match.

Semantics of component-helpers' `nodeaffinity`: terms are alternatives, the requirements of a term
must all hold, an empty term matches nothing, and a comparison is false unless both are integers.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from gang_scheduler.model.affinity.requirements import NodeTerm, Operator, Requirement
from gang_scheduler.model.nodes import ABSENT, BoolArray, LabelColumn, NodeTable

_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def any_term(terms: Iterable[NodeTerm], nodes: NodeTable) -> BoolArray:
    """Return the nodes that at least one of the terms matches."""
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        if term:
            allowed |= np.logical_and.reduce([_holds(each, nodes) for each in term])
    return allowed


def _holds(requirement: Requirement, nodes: NodeTable) -> BoolArray:
    column = _names(nodes) if requirement.on_field else nodes.label(requirement.key)
    return TESTS[requirement.operator](column, requirement.values)


def _names(nodes: NodeTable) -> LabelColumn:
    return nodes.derive(
        "names",
        lambda: LabelColumn(np.arange(len(nodes)), tuple(node.name for node in nodes.nodes)),
    )


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
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and _SMALLEST <= number <= _LARGEST else None


TESTS: Mapping[Operator, Callable[[LabelColumn, tuple[str, ...]], BoolArray]] = {
    Operator.IN: lambda column, values: column.matches(values),
    Operator.NOT_IN: lambda column, values: ~column.matches(values),
    Operator.EXISTS: lambda column, _: column.codes != ABSENT,
    Operator.DOES_NOT_EXIST: lambda column, _: column.codes == ABSENT,
    Operator.GT: lambda column, values: _compare(column, values, greater=True),
    Operator.LT: lambda column, values: _compare(column, values, greater=False),
}


def terms(of: tuple[NodeTerm, ...], nodes: NodeTable) -> BoolArray:
    """Return the nodes that one of the terms matches, computed once a node table."""
    return nodes.derive(("volume", of), functools.partial(any_term, of, nodes))
