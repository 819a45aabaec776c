"""The settings on which decisions depend, as flags: `model.rules` declares them."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_type_hints

from annotated_types import doc
from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from gang_scheduler.api.pod_group import OneOf
from gang_scheduler.model.api_words import Fairness
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.resources import parse_quantity
from gang_scheduler.model.rules import (
    DeviceClassMapping,
    DeviceRules,
    GangRules,
    PreemptionRules,
    PromiseRules,
    QueueRules,
    ResourceTransformation,
    Rules,
    SpareNodes,
    WorkloadRules,
)

R = TypeVar("R", GangRules, PreemptionRules, QueueRules, PromiseRules, WorkloadRules, DeviceRules)

_SUBJECTS: Final = (
    *(GangRules, PreemptionRules, QueueRules, PromiseRules, WorkloadRules, DeviceRules),
)
TOO_DEEP: Final = "is nested too deeply"
_WORDS: Final = {"kueue_fairness": OneOf(Fairness.PRIORITY, Fairness.DRS)}
"""Settings that accept only some words of an enum: Kueue has no other fairness."""


def _flags() -> Iterator[tuple[str, Any]]:
    """Yield each setting with its type, bounds, meaning and default, as pydantic needs them."""
    for subject in _SUBJECTS:
        hints = get_type_hints(subject, include_extras=True)
        for each in fields(subject):
            hint = hints[each.name]
            told = next(word for word in hint.__metadata__ if isinstance(word, doc))
            if each.name in _WORDS:
                hint = Annotated[hint, _WORDS[each.name]]
            yield each.name, (hint, Field(default=each.default, description=told.documentation))


if TYPE_CHECKING:
    _Flags = BaseModel
else:
    _Flags = create_model("_Flags", **dict(_flags()))


@contextlib.contextmanager
def depth_refused() -> Iterator[None]:
    """Raise ValueError for JSON that is nested too deeply to be parsed."""
    try:
        yield
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error


def _json(text: str) -> object:
    with depth_refused():
        return json.loads(text)


def _mapping(text: str) -> object:
    """Return a mapping of DeviceClasses, given as JSON or as NAME=CLASS,CLASS."""
    name, sign, classes = text.partition("=")
    if not sign or text.startswith("{"):
        return _json(text)
    return {"name": name, "deviceClassNames": classes.split(",")}


class Policy(_Flags):
    """The settings that decisions depend on. Their flags exist for `run` and for `simulate`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    if TYPE_CHECKING:

        def __init__(self, **flags: Any) -> None:  # noqa: ANN401 - pydantic checks each.
            """Check the value of each flag. Raises ValidationError."""

    @property
    def rules(self) -> Rules:
        """The settings by subject, for the code that decides."""
        return Rules(
            gangs=self._of(GangRules),
            preemption=self._of(PreemptionRules),
            queues=self._of(QueueRules),
            promises=self._of(PromiseRules),
            workloads=self._of(WorkloadRules),
            devices=self._of(DeviceRules),
        )

    def _of(self, subject: type[R]) -> R:
        return subject(**{each.name: getattr(self, each.name) for each in fields(subject)})

    @field_validator("spare_nodes", "resource_transformations", mode="before")
    @classmethod
    def _from_json(cls, given: object) -> object:
        """Return the items of flags, decoded from JSON. Raises ValueError for an invalid text."""
        if not isinstance(given, (list, tuple)):
            return given
        return [_json(each) if isinstance(each, str) else each for each in given]

    @field_validator("device_class_mappings", mode="before")
    @classmethod
    def _from_short(cls, given: object) -> object:
        """Return mappings, decoded from JSON or NAME=CLASS. Raises ValueError for other texts."""
        if not isinstance(given, (list, tuple)):
            return given
        return [_mapping(each) if isinstance(each, str) else each for each in given]

    @field_validator("device_class_mappings")
    @classmethod
    def _map_once(cls, given: tuple[DeviceClassMapping, ...]) -> tuple[DeviceClassMapping, ...]:
        """Return the mappings. Raises ValueError if a class is in two of them."""
        seen: dict[str, str] = {}
        for number, each in enumerate(given):
            for name in each.device_class_names:
                if seen.setdefault(name, each.name) != each.name:
                    raise ValueError(
                        f"[{number}].deviceClassNames {name!r} counts as {seen[name]!r} already"
                    )
            for place, source in enumerate(each.sources):
                if (source.counter is None) == (source.capacity is None):
                    raise ValueError(
                        f"[{number}].sources[{place}] must have either counter or capacity"
                    )
        return given

    @field_validator("spare_nodes")
    @classmethod
    def _leave_some(cls, given: tuple[SpareNodes, ...]) -> tuple[SpareNodes, ...]:
        """Return the spare nodes.

        Raises ValueError for the layer of single nodes: all nodes would be kept free.
        """
        if any(each.layer == NODE_LAYER for each in given):
            raise ValueError(
                f"each domain of {NODE_LAYER} is one node, so none would be left for gangs"
            )
        return given

    @field_validator("resource_transformations")
    @classmethod
    def _are_rules(
        cls, given: tuple[ResourceTransformation, ...]
    ) -> tuple[ResourceTransformation, ...]:
        """Return transformations. Raises ValueError for an amount of 0 or a repeated input."""
        seen: set[str] = set()
        for number, each in enumerate(given):
            for output, amount in each.outputs.items():
                if parse_quantity(amount, 1000) <= 0:
                    raise ValueError(f"[{number}].outputs.{output} {amount!r} is not above 0")
            if each.input in seen:
                raise ValueError(f"[{number}].input {each.input!r} is there twice")
            seen.add(each.input)
        return given
