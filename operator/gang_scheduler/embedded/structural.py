"""Checks objects by the schema of their CRD: drops unknown fields, fills in defaults, finds faults.

The schemas are structural. They have types of their own (a number or a text, any fields that are
kept) and defaults, which a validator for JSON Schema does not know. Rules in CEL are not evaluated.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.embedded.refusals import Cause

KEEPS: Final = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
OF_ROOT: Final = ("apiVersion", "kind", "metadata")
Bound = Callable[[Any, Any], bool]
OF_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
}
Schema = Mapping[str, Any]
Found = Iterator[Cause]


def pruned(value: Any, schema: Schema, unknown: list[str], where: str = "") -> Any:  # noqa: ANN401 - any JSON.
    """Return a value without the fields that its schema lacks; `unknown` gets their paths."""
    if isinstance(value, list):
        items = schema.get("items", {})
        return [pruned(e, items, unknown, f"{where}[{i}]") for i, e in enumerate(value)]
    if not isinstance(value, dict) or (schema.get(INT_OR_STRING) and not schema.get("properties")):
        return value
    kept = {}
    for name, each in value.items():
        path = f"{where}.{name}" if where else name
        own = _schema_of(schema, name, is_root=not where)
        if own is not None:
            kept[name] = pruned(each, own, unknown, path)
        elif schema.get(KEEPS):
            kept[name] = each
        else:
            unknown.append(path)
    return kept


def _schema_of(schema: Schema, name: str, *, is_root: bool) -> Schema | None:
    """Return the schema of a field, None for an unknown field."""
    if name in OF_ROOT and (is_root or schema.get(EMBEDDED)):
        return {KEEPS: True}
    own: Schema | None = schema.get("properties", {}).get(name)
    if own is not None:
        return own
    additional = schema.get("additionalProperties")
    if additional is True:
        return {KEEPS: True}
    return additional if isinstance(additional, Mapping) else None


def defaulted(value: Any, schema: Schema) -> Any:  # noqa: ANN401
    """Return a value in which absent fields have the schema's defaults."""
    if isinstance(value, list) and "items" in schema:
        return [defaulted(each, schema["items"]) for each in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, own in schema.get("properties", {}).items():
        # A forbidden null counts as absent, if there is a default.
        if "default" in own and (
            name not in filled or (filled[name] is None and not own.get("nullable"))
        ):
            filled[name] = own["default"]
        if name in filled:
            filled[name] = defaulted(filled[name], own)
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        others = [name for name in filled if name not in schema.get("properties", {})]
        filled |= {name: defaulted(filled[name], additional) for name in others}
    return filled


def without_nulls(value: Any, schema: Schema) -> Any:  # noqa: ANN401
    """Return a value without nulls, except allowed nulls and nulls of required fields."""
    if isinstance(value, list):
        return [without_nulls(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: without_nulls(each, properties.get(name, {}))
        for name, each in value.items()
        if each is not None
        or name not in properties
        or name in required
        or properties[name].get("nullable")
    }


def wrong(value: Any, schema: Schema, where: str = "") -> Found:  # noqa: ANN401
    """Yield the faults that a value has by its schema."""
    if value is None and (schema.get("nullable") or not schema.get("type")):
        return
    of_type = list(_of_type(value, schema, where))
    if of_type:
        yield from of_type
        return
    yield from _of_value(value, schema, where)
    if isinstance(value, dict):
        yield from _of_fields(value, schema, where)
    elif isinstance(value, list):
        items = schema.get("items", {})
        for number, each in enumerate(value):
            yield from wrong(each, items, f"{where}[{number}]")
    elif isinstance(value, str):
        yield from _of_text(value, schema, where)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _of_number(value, schema, where)
    yield from _of_combinations(value, schema, where)


def _of_type(value: object, schema: Schema, where: str) -> Found:
    wanted = schema.get("type")
    if schema.get(INT_OR_STRING):
        fits = isinstance(value, (int, str)) and not isinstance(value, bool)
        wanted = "integer,string"
    elif wanted is None:
        return
    else:
        fits = isinstance(value, OF_TYPES[wanted])
        fits = fits and (wanted == "boolean" or not isinstance(value, bool))
        fits = fits and (wanted != "integer" or value == int(value))  # type: ignore[call-overload]
    if not fits:
        found = next((name for name, types in OF_TYPES.items() if type(value) in types), "null")
        text = f'Invalid value: "{found}": {where} in body must be of type {wanted}: "{found}"'
        yield Cause(where, text, "FieldValueTypeInvalid")


def _of_value(value: object, schema: Schema, where: str) -> Found:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        shown = ", ".join(f'"{each}"' for each in allowed)
        text = f"Unsupported value: {_shown(value)}: supported values: {shown}"
        yield Cause(where, text, "FieldValueNotSupported")
    for key, is_wrong, words in _SIZES:
        if key in schema and is_wrong(value, schema[key]):
            text = f"Invalid value: {_shown(value)}: {where} in body should {words} {schema[key]}"
            yield Cause(where, text)


def _of_fields(value: Mapping[str, Any], schema: Schema, where: str) -> Found:
    for name in schema.get("required", ()):
        if name not in value:
            yield Cause(_below(where, name), "Required value", "FieldValueRequired")
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        own = properties.get(name, additional if isinstance(additional, Mapping) else None)
        if own is not None:
            yield from wrong(each, own, _below(where, name))


def _of_text(value: str, schema: Schema, where: str) -> Found:
    pattern = schema.get("pattern")
    if pattern is not None and not re.search(pattern, value):
        text = f"Invalid value: {_shown(value)}: {where} in body should match '{pattern}'"
        yield Cause(where, text)


def _of_number(value: float, schema: Schema, where: str) -> Found:
    for key, exclusive, is_wrong, words in _BOUNDS:
        if key not in schema:
            continue
        bound = schema[key]
        if is_wrong(value, bound) or (schema.get(exclusive) and value == bound):
            text = f"{where} in body should be {words} or equal to {bound}"
            yield Cause(where, f"Invalid value: {value}: {text}")


def _of_combinations(value: object, schema: Schema, where: str) -> Found:
    for each in schema.get("allOf", ()):
        yield from wrong(value, each, where)
    fits = {
        kind: [not any(True for _ in wrong(value, each, where)) for each in schema[kind]]
        for kind in ("anyOf", "oneOf")
        if kind in schema
    }
    if "anyOf" in fits and not any(fits["anyOf"]):
        text = f"{where} in body must validate at least one schema (anyOf)"
        yield Cause(where, f"Invalid value: {_shown(value)}: {text}")
    if "oneOf" in fits and sum(fits["oneOf"]) != 1:
        text = f"{where} in body must validate one and only one schema (oneOf)"
        yield Cause(where, f"Invalid value: {_shown(value)}: {text}")
    if "not" in schema and not any(True for _ in wrong(value, schema["not"], where)):
        text = f"{where} in body must not validate the schema (not)"
        yield Cause(where, f"Invalid value: {_shown(value)}: {text}")


_BOUNDS: Final[tuple[tuple[str, str, Bound, str], ...]] = (
    ("minimum", "exclusiveMinimum", lambda a, b: a < b, "greater than"),
    ("maximum", "exclusiveMaximum", lambda a, b: a > b, "less than"),
)
_SIZES: Final[tuple[tuple[str, Bound, str], ...]] = (
    ("minLength", lambda v, n: isinstance(v, str) and len(v) < n, "be at least as long as"),
    ("maxLength", lambda v, n: isinstance(v, str) and len(v) > n, "be at most as long as"),
    (
        "minItems",
        lambda v, n: isinstance(v, list) and len(v) < n,
        "have as many items as",
    ),
    ("maxItems", lambda v, n: isinstance(v, list) and len(v) > n, "have at most as many items as"),
    ("minProperties", lambda v, n: isinstance(v, dict) and len(v) < n, "have as many fields as"),
    ("maxProperties", lambda v, n: isinstance(v, dict) and len(v) > n, "have at most as many as"),
)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
