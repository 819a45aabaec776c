"""The fields of kinds with their types, from the schemas that API servers publish.

pydantic's core does the work. Each schema is translated for it, as if it were a model.
"""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from gang_scheduler.api import crds
from gang_scheduler.api.kinds import SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.api.parsing import InvalidField, invalid_field
from gang_scheduler.api.pod_group import PodGroup
from gang_scheduler.model import similar_names

FILE: Final = "kubernetes.json"
UNKNOWN: Final = "extra_forbidden"
"""pydantic's error for a field that a schema does not have."""
INTEGERS: Final[Mapping[str, int]] = {"int32": 2**31 - 1, "int64": 2**63 - 1}
OF_TYPES: Final[Mapping[str, CoreSchema]] = {
    "boolean": core_schema.bool_schema(strict=True),
    "number": core_schema.float_schema(strict=True),
    "object": core_schema.dict_schema(),
    "string": core_schema.str_schema(strict=True),
}
NOT_REQUIRED: Final = frozenset(
    {
        ("batch.v1.PodFailurePolicy", "rules"),
        ("core.v1.HTTPHeader", "value"),
        ("core.v1.PreferredSchedulingTerm", "preference"),
        ("core.v1.SleepAction", "seconds"),
        ("core.v1.Sysctl", "value"),
        ("scheduling.v1.PriorityClass", "value"),
    }
)
"""Fields that an API server sets to zero if they are missing, although its schema requires them."""
Schema = Mapping[str, Any]


class Findings(NamedTuple):
    """The result of checking an object: its unknown fields, and its faults."""

    unknown: Sequence[str] = ()
    wrong: Sequence[InvalidField] = ()


def findings(body: Mapping[str, Any]) -> Findings | None:
    """Return the result of checking an object by the schema of its kind; None without a schema."""
    found = _of_kind(body["apiVersion"], body["kind"])
    return None if found is None else found.findings(body)


def has(api_version: str, kind: str) -> bool:
    """Return whether the schema of a kind is known."""
    return _of_kind(api_version, kind) is not None


class _Schema:
    """The schema of one kind, as a validator of pydantic.

    With `only_names`, only names of fields are checked here; other code checks the values.
    """

    def __init__(self, root: Schema, types: Mapping[str, Schema], *, only_names: bool) -> None:
        self._root = root
        self._types = types
        self._only_names = only_names
        self._validator = SchemaValidator(_Translation(types).whole(root))

    def findings(self, body: Mapping[str, Any]) -> Findings:
        """Return the findings on an object."""
        try:
            self._validator.validate_python(body)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=True)
            unknown = tuple(self._said(each["loc"]) for each in found if each["type"] == UNKNOWN)
            wrong = () if self._only_names else (e for e in found if e["type"] != UNKNOWN)
            return Findings(unknown, tuple(map(invalid_field, wrong)))
        return Findings()

    def _said(self, location: tuple[int | str, ...]) -> str:
        """Return the message on an unknown field, with the field that may be meant."""
        *above, name = location
        near = similar_names.close_to(str(name), self._properties(above))
        return f"unknown field {_dotted(location)}" + (
            f" (did you mean {near[0]}?)" if near else ""
        )

    def _properties(self, location: Sequence[int | str]) -> Mapping[str, Schema]:
        """Return the fields that the object at a path can have."""
        here = self._root
        for step in location:
            here = self._types[here["$ref"]] if "$ref" in here else here
            if isinstance(step, int):
                here = here["items"]
            else:
                here = here.get("properties", {}).get(step) or here["additionalProperties"]
        here = self._types[here["$ref"]] if "$ref" in here else here
        properties: Mapping[str, Schema] = here.get("properties", {})
        return properties


class _Translation:
    """Turns a schema of an API server into a schema of pydantic's core."""

    def __init__(self, types: Mapping[str, Schema]) -> None:
        self._types = types
        self._done: dict[str, CoreSchema] = {}
        self._left: list[str] = []

    def whole(self, root: Schema) -> CoreSchema:
        """Return the schema of a kind, including all types that it refers to."""
        top = self._value(root)
        while self._left:
            name = self._left.pop()
            if name not in self._done:
                self._done[name] = {**self._value(self._types[name], name), "ref": name}
        return core_schema.definitions_schema(top, [*self._done.values()])

    def _value(self, schema: Schema, name: str = "") -> CoreSchema:
        if "$ref" in schema:
            self._left.append(schema["$ref"])
            return core_schema.definition_reference_schema(schema["$ref"])
        if "properties" in schema:
            return self._object(schema, name)
        if "additionalProperties" in schema:
            values = self._value(schema["additionalProperties"])
            return core_schema.dict_schema(core_schema.str_schema(), values)
        if "items" in schema:
            return core_schema.list_schema(self._value(schema["items"]), strict=True)
        return _scalar(schema)

    def _object(self, schema: Schema, name: str) -> CoreSchema:
        required = schema.get("required", ())
        fields = {
            each: core_schema.typed_dict_field(
                self._value(value), required=each in required and (name, each) not in NOT_REQUIRED
            )
            for each, value in schema["properties"].items()
        }
        return core_schema.typed_dict_schema(fields, extra_behavior="forbid")


def _dotted(location: Sequence[int | str]) -> str:
    """Return the path of an unknown field as an API server writes it."""
    steps = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in location)
    return "".join(steps).removeprefix(".")


def _scalar(schema: Schema) -> CoreSchema:
    """Return the schema of a value that has no known fields."""
    if "enum" in schema:
        # A text without letters counts as absent.
        return core_schema.literal_schema([*schema["enum"], ""])
    kind = schema.get("type")
    if kind == "integer":
        most = INTEGERS.get(schema.get("format", ""))
        least = None if most is None else -most - 1
        return core_schema.int_schema(strict=True, le=most, ge=least)
    if isinstance(kind, list):
        return core_schema.union_schema(
            [OF_TYPES["string"], OF_TYPES["number"]],
            custom_error_type="number_or_text",
            custom_error_message="must be a number or a string",
        )
    return OF_TYPES.get(kind or "", core_schema.any_schema())


@functools.cache
def _of_kind(api_version: str, kind: str) -> _Schema | None:
    """Return the schema of a kind."""
    published = _published()
    if (name := published["kinds"].get(f"{api_version} {kind}")) is not None:
        return _Schema({"$ref": name}, published["types"], only_names=False)
    for version, model in _ours():
        if (api_version, kind) == (version, model.__name__):
            # All objects have the same metadata.
            own = crds.structural(model)
            properties = {**own["properties"], **_BESIDE}
            return _Schema({**own, "properties": properties}, published["types"], only_names=True)
    return None


_BESIDE: Final[Schema] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": "meta.v1.ObjectMeta"},
    "status": {},
}


def _ours() -> Iterator[tuple[str, type]]:
    """Yield the kinds of our CRDs, and scheduler-plugins' PodGroup, which is read the same way."""
    for each in crds.DEFINITIONS:
        yield f"{each.model.GROUP}/{each.model.VERSION}", each.model
    yield SCHED_PLUGINS_POD_GROUPS.api_version, PodGroup


@functools.cache
def _published() -> Mapping[str, Any]:
    found = resources.files(__package__).joinpath(FILE).read_bytes()
    read: Mapping[str, Any] = json.loads(found)
    return read
