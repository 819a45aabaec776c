"""Turns a pydantic model into the structural schema that a CRD may contain.

Structural means: no references, a type on every value, nullable fields simply not required. A
keyword that this module does not know is refused here, before the API server would refuse it.
Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions
"""

from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]

# Titles repeat the names. Defaults would be written into users' objects by the API server.
DROPPED: Final = frozenset({"title", "default"})
KEPT: Final = frozenset(
    {
        "description",
        "enum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "required",
        "type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-validations",
    }
)


class UnknownKeyword(ValueError):  # noqa: N818 - says what was found, like InvalidField
    """A model makes a JSON schema keyword that we do not know to be allowed in a CRD."""


def structural(model: type[BaseModel]) -> Schema:
    """Return the model's schema as a CRD wants it."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.pop("$defs", {}))


def _structural(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return one value's schema, with all schemas inside it, and references resolved."""
    schema = _without_null(_resolved(schema, definitions), definitions)
    result: Schema = {}
    for keyword, value in sorted(schema.items()):
        if keyword in DROPPED:
            continue
        if keyword == "properties":
            result[keyword] = {name: _structural(s, definitions) for name, s in value.items()}
        elif keyword in {"items", "additionalProperties"} and isinstance(value, dict):
            result[keyword] = _structural(value, definitions)
        elif keyword in KEPT:
            result[keyword] = value
        elif keyword != "additionalProperties" or value is not True:
            raise UnknownKeyword(keyword)
    return result


def _resolved(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema with its reference replaced; what stands beside the reference wins."""
    if "$ref" not in schema:
        return schema
    beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
    target = definitions[schema["$ref"].removeprefix("#/$defs/")]
    return {**_resolved(target, definitions), **beside}


def _without_null(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of an optional value without the choice of null."""
    if "anyOf" not in schema:
        return schema
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    if len(choices) != 1:
        raise UnknownKeyword("anyOf")
    beside = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    return {**_resolved(choices[0], definitions), **beside}
