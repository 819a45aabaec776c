"""What labels must be like: the expressions of node selectors and of label selectors."""

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


class Operator(enum.StrEnum):
    """Operators of requirements. Gt and Lt are for nodes only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression, over a label or (`on_field`, for nodes) `metadata.name`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    on_field: bool = False


NodeTerm = tuple[Requirement, ...]
"""Requirements that must all hold. An empty term matches no node, as in Kubernetes."""

LABEL_OPERATORS: Mapping[Operator, Callable[[str | None, tuple[str, ...]], bool]] = {
    Operator.IN: lambda value, values: value in values,
    Operator.NOT_IN: lambda value, values: value not in values,
    Operator.EXISTS: lambda value, _: value is not None,
    Operator.DOES_NOT_EXIST: lambda value, _: value is None,
}
"""By operator: whether a label value, None if the label is absent, satisfies an expression."""


def hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy all expressions of a label selector."""
    return all(
        LABEL_OPERATORS[each.operator](labels.get(each.key), each.values) for each in requirements
    )
