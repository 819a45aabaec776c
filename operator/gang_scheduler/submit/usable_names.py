"""The names in a cluster that a job may use: queues, priorities, flavors, GPUs, layers, kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_SCHEDULER: Final = "py-gang-scheduler"


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A PriorityClass by its name; with `never`, its pods evict no other pods."""

    name: str
    value: int
    never: bool = False


@dataclass(frozen=True, slots=True)
class UsableNames:
    """The names in a cluster that a job may use.

    A field is None if the user may not list these names; then any name is accepted.

    `flavors` are the node labels of ResourceFlavors, `gpu_types` the values of the label
    nvidia.com/gpu.product, and `kinds` the kinds of jobs that are served, by name. `managed` are
    the kinds that the scheduler starts itself if they are suspended.
    """

    scheduler: str = DEFAULT_SCHEDULER
    priority_classes: tuple[PriorityClass, ...] | None = None
    queues: frozenset[str] | None = None
    flavors: Mapping[str, Mapping[str, str]] | None = None
    gpu_types: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    managed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


UNKNOWN: Final = UsableNames()
"""No cluster: every name is accepted."""
