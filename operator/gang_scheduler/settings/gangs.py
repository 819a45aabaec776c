"""What is a gang, where its members go, and what a failed node is."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from gang_scheduler.settings.choices import GangKind, Strategy
from gang_scheduler.settings.values import Name, SpareNodes, from_json


class GangSettings(BaseModel):
    """What is a gang, where its members go, and what a failed node is."""

    scheduler_names: tuple[Name, ...] = Field(
        default=("py-gang-scheduler",),
        min_length=1,
        description=(
            "The values of spec.schedulerName that this scheduler answers to (a JSON list in "
            "the environment). Add another scheduler's name to take over its manifests "
            "unchanged, once that scheduler no longer runs."
        ),
    )
    strategy: Strategy = Field(
        default=Strategy.BINPACK,
        description=(
            "How nodes are filled: binpack fills the fullest nodes first, spread the emptiest."
        ),
    )
    gang_kinds: tuple[GangKind, ...] = Field(
        default=tuple(GangKind),
        description=(
            "Workload kinds that are gangs by default (a JSON list in the environment). Pods "
            "of other kinds become a gang with the label py-gang-scheduler.io/gang=true; the "
            "value false makes single pods of any kind."
        ),
    )
    schedule_timeout_seconds: int = Field(
        default=600,
        gt=0,
        description="After how long the scheduler reports a complete gang that it could not bind.",
    )
    node_failure_seconds: int = Field(
        default=30,
        ge=0,
        description="How long a node must be NotReady before it counts as failed.",
    )
    node_failure_taints: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Further taint keys that mark a node as failed (a JSON list in the environment). "
            "The taints out-of-service and unreachable of Kubernetes always do."
        ),
    )
    spare_nodes: tuple[Annotated[SpareNodes, BeforeValidator(from_json)], ...] = Field(
        default=(),
        description=(
            "Nodes to keep free for members that replace lost ones (a JSON list in the "
            'environment). For example [{"layer": "BlockLayer", "count": 1, "nodeSelector": '
            "{}}] keeps the last free node of each block."
        ),
    )
