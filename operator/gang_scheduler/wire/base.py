"""Base of all wire structs, and types that many kinds share: metadata, selectors, quantities."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, field, structs

from gang_scheduler.api import annotations
from gang_scheduler.model.api_words import Operator

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""A requested number of pods, Jobs or completions: an int32 that is not negative."""


class Wire(Struct, rename="camel", frozen=True, gc=False, omit_defaults=True):
    """Base of all these structs: camelCase on the wire, and invisible to the garbage collector.

    Encoding an unchanged struct gives the fields that were read.
    """


class Words(frozenset[str]):
    """Marks a text field whose values are words of the API, not names."""


class Keys(frozenset[str]):
    """Marks a map of which only these keys are read."""


class Condition(Wire, frozen=True):
    """A condition of a pod or a node."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


# Lengths of texts, and the value that replaces a longer text.

LONGEST_TEXT: Final = 1 << 16
"""The most characters of any text that is read."""
LONGEST_VALUE: Final = 1024
"""The most characters of a label, or of an annotation that is no list and no object."""
SHOWN: Final = 64

MARK: Final = " may be)"
"""The end of a text that was cut."""

_JSON: Final = 1 << 14
LONGEST_OF: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        (
            annotations.ROLES,
            annotations.ELASTIC,
            annotations.NETWORK_TOPOLOGY_SPEC,
            annotations.PODSET_SLICE_LAYERS,
            annotations.FLAVORS,
            annotations.CHECKPOINT_LATEST,
        ),
        _JSON,
    ),
    # 64 names of two parts each.
    annotations.GANG_GROUPS: 3 * _JSON,
    # Written with an admission: as much as fits into the 256 KiB of all annotations together.
    annotations.ADMITTED_FROM: 200_000,
    annotations.ADMITTED_TO: 100_000,
}
"""Annotations that may be longer, with the most characters of each."""


_CUT: Final = re.compile(
    rf".{{{SHOWN}}}\.\.\. \([0-9]+ characters, of which (?P<most>[0-9]+){re.escape(MARK)}",
    re.DOTALL,
)


def cut_text(text: str, most: int) -> str:
    """Return a text unchanged if it is short enough; else its beginning, and its length."""
    if len(text) <= most:
        return text
    return f"{text[:SHOWN]}... ({len(text)} characters, of which {most}{MARK}"


def most_of(text: str) -> int | None:
    """Return the limit for a text that was cut; None if it was not cut."""
    found = _CUT.fullmatch(text) if len(text) < 2 * SHOWN else None
    return None if found is None else int(found["most"])


def bounded_texts(values: dict[str, str], longest_of: Mapping[str, int]) -> dict[str, str]:
    """Return the values with too long ones cut; the same object if there are none."""
    for text in values.values():
        if len(text) > LONGEST_VALUE:
            break
    else:
        return values
    return {key: cut_text(text, longest_of.get(key, LONGEST_VALUE)) for key, text in values.items()}


class OwnerReference(Wire, frozen=True):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def is_job(self) -> bool:
        """Whether the owner is a Job of Kubernetes: other products have a kind Job, too."""
        return self.kind == "Job" and self.api_version.startswith("batch/")

    @property
    def is_stateful_set(self) -> bool:
        """Whether the owner is a StatefulSet of Kubernetes."""
        return self.kind == "StatefulSet" and self.api_version.startswith("apps/")

    @property
    def is_daemon_set(self) -> bool:
        """Whether the owner is a DaemonSet of Kubernetes."""
        return self.kind == "DaemonSet" and self.api_version.startswith("apps/")

    @property
    def is_training_job(self) -> bool:
        """Whether the owner is a job of Kubeflow or of Volcano."""
        return self.api_version.startswith(("kubeflow.org/", "batch.volcano.sh/"))

    def is_node(self, name: str) -> bool:
        """Return whether the owner is the Node of this name."""
        return (self.api_version, self.kind, self.name) == ("v1", "Node", name)


NO_OWNER = OwnerReference()


class Labelled(Wire, frozen=True):
    """Labels and annotations of an object. A text longer than `texts` allows is cut."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Bound each label and annotation before any code can read it."""
        labels = bounded_texts(self.labels, {})
        if labels is not self.labels:
            structs.force_setattr(self, "labels", labels)
        present = bounded_texts(self.annotations, LONGEST_OF)
        if present is not self.annotations:
            structs.force_setattr(self, "annotations", present)


class Metadata(Labelled, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: list[OwnerReference] = field(default_factory=list)

    @property
    def controller(self) -> OwnerReference:
        """The owner that controls the object, else NO_OWNER: the API server allows one."""
        return next((each for each in self.owner_references if each.controller), NO_OWNER)


class ListMetadata(Wire, frozen=True):
    """`metadata` of a page of a list: its version, the next page, and how many items follow."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: Int64 = 0


class MetadataOnly(Wire, frozen=True):
    """An object of which only the metadata is read."""

    metadata: Metadata


class Identity(Wire, frozen=True):
    """The `metadata` that every object has: its identity and version."""

    uid: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class Identified(Wire, frozen=True):
    """Any object."""

    metadata: Identity


class IdentityList(Wire, frozen=True):
    """A page of objects. Other fields are not read. The items may be null if it is empty."""

    items: list[Identified] | None = None
    metadata: ListMetadata = ListMetadata()


Quantity = str | Int64 | float
Quantities = dict[str, Quantity]


class ResourceRequirements(Wire, frozen=True):
    """`resources` of a container or a pod."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


class NodeSelectorRequirement(Wire, frozen=True):
    """An expression of a node selector term."""

    key: str
    operator: Operator
    values: list[str] = field(default_factory=list)


class NodeSelectorTerm(Wire, frozen=True):
    """One of the alternatives of a node selector."""

    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)
    match_fields: list[NodeSelectorRequirement] = field(default_factory=list)


class NodeSelector(Wire, frozen=True):
    """Required node affinity."""

    node_selector_terms: list[NodeSelectorTerm] = field(default_factory=list)


class LabelSelector(Wire, frozen=True):
    """A selector of objects by their labels. An empty selector selects all."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)
