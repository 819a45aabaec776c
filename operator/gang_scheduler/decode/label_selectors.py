"""From the wire to requirements on labels, in a canonical form: equal selectors compare equal."""

from collections.abc import Iterable, Iterator

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model.affinity.requirements import LABEL_OPERATORS, Operator, Requirement
from gang_scheduler.wire.selectors import LabelSelector, NodeSelectorRequirement

WITH_VALUES = frozenset({Operator.IN, Operator.NOT_IN})


def requirements(selector: LabelSelector, where: str) -> tuple[Requirement, ...]:
    """Return the requirements of a selector, sorted; `where` is its field.

    Raises InvalidField that names the field and the value.
    """
    wanted = (Requirement(k, Operator.IN, (value,)) for k, value in selector.match_labels.items())
    return all_of((*wanted, *_expressions(selector, where)))


def all_of(several: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return requirements sorted, each once."""
    return tuple(sorted(set(several), key=lambda each: (each.key, each.operator, each.values)))


def _expressions(selector: LabelSelector, where: str) -> Iterator[Requirement]:
    for i, each in enumerate(selector.match_expressions):
        _check(each, f"{where}.matchExpressions[{i}]")
        yield Requirement(each.key, each.operator, tuple(sorted(set(each.values))))


def _check(expression: NodeSelectorRequirement, where: str) -> None:
    operator, values = expression.operator, expression.values
    if operator not in LABEL_OPERATORS:
        problem = f"must be one of {', '.join(LABEL_OPERATORS)}"
        raise InvalidField(f"{where}.operator", operator.value, problem)
    if (operator in WITH_VALUES) != bool(values):
        problem = "must not be empty" if operator in WITH_VALUES else "must be empty"
        raise InvalidField(f"{where}.values", values, f"{problem} where the operator is {operator}")
