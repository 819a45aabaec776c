"""How pods are evicted, and what becomes of gangs that lost some."""

from pydantic import BaseModel, Field

from gang_scheduler.settings.choices import DegradedGangs, OnPartialGang

MOST_CHECKPOINTS = 64
"""How many checkpoints the CRD of PodGroups takes."""


class EvictionSettings(BaseModel):
    """How pods are evicted, and what becomes of gangs that lost some."""

    on_partial_gang: OnPartialGang = Field(
        default=OnPartialGang.HOLD,
        description=(
            "When a crash left a gang bound in part and its rest finds no room until the schedule "
            "timeout: Hold keeps the bound members, Release deletes them."
        ),
    )
    checkpoint_annotations: bool = Field(
        default=False,
        description=(
            "Ask gangs in the checkpoint mode Annotation to save their work before they are "
            "evicted. Without it they are deleted as in the mode Signal."
        ),
    )
    checkpoint_http: bool = Field(
        default=False,
        description=(
            "Ask gangs in the checkpoint mode HTTP, each at the IP of a pod of its own. Without it "
            "they are deleted as in the mode Signal."
        ),
    )
    max_checkpoint_seconds: int = Field(
        default=300,
        ge=1,
        description="How long a gang may take at most to save its work when it is asked to.",
    )
    max_checkpoints: int = Field(
        default=5,
        ge=1,
        le=MOST_CHECKPOINTS,
        description="How many checkpoints the status of a PodGroup lists; the files stay.",
    )
    max_grace_period_seconds: int = Field(
        default=600,
        ge=0,
        description=(
            "How much of the gracePeriod of a queue counts, by which pods may get longer to end "
            "than they ask for."
        ),
    )
    degraded_gangs: DegradedGangs = Field(
        default=DegradedGangs.WAIT,
        description=(
            "When the domain of a gang that runs has no room for members that replace lost ones: "
            "Wait until it has; Evict the whole gang after its schedule timeout, so that it starts "
            "anew anywhere."
        ),
    )
    force_delete_stuck_pods_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "After how long at the earliest pods are deleted by force that are stuck on failed "
            "nodes, of gangs that allow it with annotation "
            "py-gang-scheduler.io/force-delete-stuck-pods; 0: never."
        ),
    )
    claim_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long the room of a gang is held while claims of its members are being bound."
        ),
    )
