"""What all our kinds share: the base models, conditions, and field types with their schema.

The pydantic types here decide twice: what `parsing` accepts, and what `schema` puts into the CRD.
"""

import datetime as dt
import enum
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from annotated_types import Le
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    Strict,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError

# The rule of Kubernetes for a quantity, as its own generators write it into CRDs.
QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
REASON_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


@dataclass(frozen=True)
class IntegerFormat:
    """Marks an integer's width in the schema, which implies its greatest value."""

    name: str

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema with `format` in place of `maximum`."""
        schema = {**handler(core_schema), "format": self.name}
        schema.pop("maximum", None)
        return schema


def _quantity(value: object) -> int | str:
    """Return the value if it is a quantity, as it was written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(QUANTITY_PATTERN, value):
        return value
    raise PydanticCustomError("quantity", 'must be a quantity such as 4 or "16Gi"')


def _to_seconds(time: dt.datetime) -> str:
    """Return the time in UTC as Kubernetes writes it, which has no fractions of a second."""
    return time.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Int32 = Annotated[int, Strict(), Le(2**31 - 1), IntegerFormat("int32")]
Int64 = Annotated[int, Strict(), Le(2**63 - 1), IntegerFormat("int64")]
Text = Annotated[str, Strict()]
Time = Annotated[AwareDatetime, PlainSerializer(_to_seconds, when_used="json")]
Quantity = Annotated[
    int | str,
    PlainValidator(_quantity),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}),
]


class ApiModel(BaseModel):
    """Frozen, camelCase outside and snake_case inside; unknown fields are ignored."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        # Most processes meet objects of a few kinds, and each model takes a while to make.
        defer_build=True,
    )

    def manifest(self) -> dict[str, Any]:
        """Return what is written to the API server: JSON values, no field that is not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class ConditionStatus(enum.StrEnum):
    """What a condition says of its type."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """One fact about an object, with the reason for it."""

    type: Text = Field(
        max_length=316, description="What the condition is about, in CamelCase; unique in its list."
    )
    status: ConditionStatus = Field(description="Whether it holds: True, False or Unknown.")
    observed_generation: Int64 | None = Field(
        default=None, ge=0, description="The metadata.generation that the condition was made from."
    )
    last_transition_time: Time = Field(description="When the status last changed.")
    reason: Text = Field(
        min_length=1,
        max_length=1024,
        pattern=REASON_PATTERN,
        description="Why, as one word in CamelCase that programs may rely on.",
    )
    message: Text = Field(max_length=32768, description="Why, in a sentence for people.")


# How the API server merges a list of conditions: one entry for each type.
CONDITIONS_BY_TYPE: Final[dict[str, Any]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
# A list that is replaced as a whole.
ATOMIC_LIST: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}


class CustomResource(ApiModel):
    """An object of ours. Subclasses add `spec` and `status`."""

    GROUP: ClassVar[str]
    VERSION: ClassVar[str] = "v1alpha1"
    PLURAL: ClassVar[str]

    api_version: Text = Field(description="The group and version that the object is written in.")
    kind: Text = Field(description="The kind of the object.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Standard object metadata, as the API server checks it."
    )
