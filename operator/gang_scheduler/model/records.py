"""Nouns of which a cluster has very many: nothing assigns to them either, and they are made fast.

A frozen dataclass sets each field with a call: for a pod of 43 fields that is several times what
assignments cost, which was a tenth of reading all pods.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a dataclass with slots whose fields the type checker lets nothing assign to."""
    return dataclass(slots=True)(cls)


def revised(noun: T, **changes: object) -> T:
    """Return a record with some fields changed, several times faster than `replace` does it."""
    kind: Any = type(noun)
    made: T = kind(*_values(kind)(noun))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@functools.cache
def _values(cls: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads all fields of a record, in the order in which it is made of them."""
    return attrgetter(*(each.name for each in fields(cls)))
