"""A model becomes a structural schema, or is refused before the API server has to."""

import enum

import pytest
from pydantic import BaseModel, Field

from gang_scheduler.api import crds
from gang_scheduler.api.pod_group import QUANTITY_PATTERN, Int32, Quantity, Text


class Colour(enum.StrEnum):
    """Colours."""

    RED = "Red"


class Part(BaseModel):
    """A part."""

    name: Text


class Optionals(BaseModel):
    """Everything may be absent."""

    count: Int32 | None = Field(default=None, ge=0)
    colour: Colour | None = Field(default=None, description="Its colour.")
    part: Part | None = None


class Quantities(BaseModel):
    """Quantities by name."""

    sizes: dict[str, Quantity]


class Ambiguous(BaseModel):
    """No structural schema can say this."""

    value: int | str


def test_optional_values_are_not_required_and_never_null() -> None:
    expected = {
        "type": "object",
        "description": "Everything may be absent.",
        "properties": {
            "count": {"type": "integer", "format": "int32", "minimum": 0},
            "colour": {"type": "string", "enum": ["Red"], "description": "Its colour."},
            "part": {
                "type": "object",
                "description": "A part.",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
    }

    assert expected == crds.structural(Optionals)


def test_a_quantity_is_a_number_or_a_string() -> None:
    sizes = crds.structural(Quantities)["properties"]["sizes"]

    expected = {"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}
    assert expected == sizes["additionalProperties"]


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(crds.UnknownKeyword, match="anyOf"):
        crds.structural(Ambiguous)
