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
        description="Values of spec.schedulerName that are ours (a JSON list in the environment).",
    )
    strategy: Strategy = Field(
        default=Strategy.BINPACK, description="Fullest nodes first, or emptiest first."
    )
    gang_kinds: tuple[GangKind, ...] = Field(
        default=tuple(GangKind),
        description=(
            "Kinds of workloads of which the pods of each are a gang without a label (a JSON list "
            "in the environment); those of others are if their label py-gang-scheduler.io/gang is "
            "true."
        ),
    )
    schedule_timeout_seconds: int = Field(
        default=600,
        gt=0,
        description="After how long a complete gang that was not bound is reported as late.",
    )
    node_failure_seconds: int = Field(
        default=30,
        ge=0,
        description="How long a node must not be ready to count as failed.",
    )
    node_failure_taints: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Keys of taints that say that a node has failed, beside out-of-service and unreachable "
            "of Kubernetes (a JSON list in the environment)."
        ),
    )
    spare_nodes: tuple[Annotated[SpareNodes, BeforeValidator(from_json)], ...] = Field(
        default=(),
        description=(
            "Nodes that are kept free for members that replace lost ones (a JSON list in the "
            "environment): layer, count, the free nodes of each domain of that layer, and "
            "nodeSelector, the labels that they have."
        ),
    )
