"""The settings with a form of their own, and what is no such value."""

import json
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gang_scheduler.model.network.layers import NODE_LAYER
from gang_scheduler.model.resources import parse_quantity
from gang_scheduler.settings.choices import TransformationStrategy

ENV_PREFIX: Final = "PGS_"
"""Before the names of all variables of the environment that are settings."""
KUEUE_NAMESPACE: Final = "kueue-system"
VOLCANO_NAMESPACE: Final = "volcano-system"

Name = Annotated[str, Field(min_length=1)]


def _shape(text: str) -> str:
    """Return what a member asks for. Raises ValueError for what is no list of requests."""
    for each in text.split(","):
        name, _, amount = each.partition("=")
        if not name:
            raise ValueError(f"{each!r} is not RESOURCE=QUANTITY")
        _positive(amount)
    return text


def _positive(quantity: str | int) -> str | int:
    """Return a quantity above 0. Raises ValueError for any other value."""
    if parse_quantity(quantity, 1000) <= 0:
        raise ValueError(f"{quantity!r} is not above 0")
    return quantity


def _above_nodes(layer: str) -> str:
    """Return the name of a layer. Raises ValueError for that of the nodes: none would be left."""
    if layer == NODE_LAYER:
        raise ValueError(f"{layer} has one node in each domain, and none would be left")
    return layer


Shape = Annotated[str, AfterValidator(_shape)]


Factor = Annotated[str | int, AfterValidator(_positive)]


class ResourceTransformation(BaseModel):
    """What quotas count for a resource: so much of each output for one of the input.

    The input is taken as often as the pod requests of multiplyBy, if it does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Name
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = Field(default="", alias="multiplyBy")
    outputs: dict[Name, Factor]


class SpareNodes(BaseModel):
    """How many free nodes of each domain of a layer are kept for members that replace lost ones.

    Of the nodes with the labels of nodeSelector.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: Annotated[Name, AfterValidator(_above_nodes)]
    count: int = Field(default=1, ge=1)
    node_selector: dict[Name, str] = Field(default={}, alias="nodeSelector")


def from_json(given: object) -> object:
    """Return what a flag has as JSON. Raises ValueError for a text that is none."""
    return json.loads(given) if isinstance(given, str) else given


def each_input_once(
    given: tuple[ResourceTransformation, ...],
) -> tuple[ResourceTransformation, ...]:
    """Return transformations. Raises ValueError for a second one of an input."""
    seen: set[str] = set()
    for number, each in enumerate(given):
        if each.input in seen:
            raise ValueError(f"[{number}].input {each.input!r} is there twice")
        seen.add(each.input)
    return given
