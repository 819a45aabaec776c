"""What is read of a kind, as a value: made of the types that its reader decodes into.

So a field that no reader knows is in no shape, and a field that a reader learns is in its shape at
once.
"""

import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args, get_origin

import msgspec
from pydantic import BaseModel

Value = Any
"""Any JSON value."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What may be where a value is.

    `fields` are those of an object, `values` is what a map has under each key, `items` what a list
    has; None: no object, no map, no list. `scalar`: there may be text, a number or a truth value,
    and `words` are those that the API knows there, if they are few. `only` are the keys of a map
    that are read, None for all. `others`: of fields that are not read, it is read that they are
    there.
    """

    fields: Mapping[str, "Shape"] | None = None
    values: "Shape | None" = None
    items: "Shape | None" = None
    scalar: bool = False
    words: frozenset[str] = frozenset()
    only: Callable[[str], bool] | None = None
    others: bool = False


PRESENCE: Final = Shape()
"""Nothing is read but whether it is there."""
SCALAR: Final = Shape(scalar=True)


def of(kind: Any) -> Shape:  # noqa: ANN401 - any type that a struct or model may have.
    """Return the shape of a type: a wire struct, a model of the API, or what these consist of."""
    if kind is Any or kind is object:
        return PRESENCE
    origin = get_origin(kind)
    if origin is typing.Annotated:
        return of(get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return _either(of(each) for each in get_args(kind) if each is not types.NoneType)
    if origin is dict:
        values = of(get_args(kind)[1])
        return PRESENCE if values is PRESENCE else Shape(values=values)
    if origin in (list, tuple):
        return Shape(items=of(get_args(kind)[0]))
    return _of_class(kind)


def _of_class(kind: type) -> Shape:
    if issubclass(kind, msgspec.Struct):
        found = msgspec.structs.fields(kind)
        return Shape(fields={each.encode_name: of(each.type) for each in found})
    if issubclass(kind, BaseModel):
        models = kind.model_fields.items()
        return Shape(fields={each.alias or name: of(each.annotation) for name, each in models})
    if issubclass(kind, enum.Enum):
        return Shape(scalar=True, words=frozenset(str(each.value) for each in kind))
    return SCALAR


def _either(shapes: Iterable[Shape]) -> Shape:
    """Return what may have any of these shapes."""
    found = Shape()
    for each in shapes:
        found = Shape(
            fields=each.fields if found.fields is None else found.fields,
            values=found.values or each.values,
            items=found.items or each.items,
            scalar=found.scalar or each.scalar,
            words=found.words | each.words,
        )
    return found


def changed(shape: Shape, path: str, change: Callable[[Shape], Shape]) -> Shape:
    """Return a shape with another one at a path such as `spec.volumes[].name`."""
    if not path:
        return change(shape)
    if path.startswith("[]"):
        rest = path.removeprefix("[]").removeprefix(".")
        return replace(shape, items=changed(shape.items or PRESENCE, rest, change))
    name, rest = _first(path)
    known = shape.fields or {}
    inner = changed(known.get(name, PRESENCE), rest, change)
    return replace(shape, fields={**known, name: inner})


def _first(path: str) -> tuple[str, str]:
    """Return the first field of a path, and what follows."""
    name, dot, rest = path.partition(".")
    if name.endswith("[]"):
        return name.removesuffix("[]"), f"[]{dot}{rest}"
    return name, rest


def pruned(value: Value, shape: Shape) -> Value:
    """Return what is read of a value, whether it can be read or not.

    Where a value has the wrong type, an empty one of that type stands for it: reading it fails, as
    before.
    """
    if isinstance(value, Mapping):
        return _pruned_object(value, shape)
    if isinstance(value, list):
        items = shape.items
        return [] if items is None else [pruned(each, items) for each in value]
    if value is None or shape.scalar:
        return value
    return type(value)()


def _pruned_object(value: Mapping[str, Value], shape: Shape) -> Value:
    if shape.fields is not None:
        known = shape.fields
        found = {
            name: pruned(each, known[name])
            for name, each in value.items()
            if name in known and each is not None
        }
        if shape.others:
            strange = {name: True for name, each in value.items() if each and name not in known}
            found |= strange
        return found
    if shape.values is not None:
        only, values = shape.only, shape.values
        return {k: pruned(v, values) for k, v in value.items() if only is None or only(k)}
    return {}
