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
            "What to do with a gang that a crash left bound in part and whose rest finds no "
            "room until the schedule timeout: Hold keeps the bound members, Release deletes "
            "them."
        ),
    )
    checkpoint_annotations: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode Annotation to save their work before "
            "they are evicted. Without it they are deleted as in the mode Signal."
        ),
    )
    checkpoint_http: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode HTTP to save their work, at the IP "
            "of one of their own pods. Without it they are deleted as in the mode Signal."
        ),
    )
    max_checkpoint_seconds: int = Field(
        default=300,
        ge=1,
        description="The most time that a gang gets to save its work when it is asked to.",
    )
    max_checkpoints: int = Field(
        default=5,
        ge=1,
        le=MOST_CHECKPOINTS,
        description=(
            "How many checkpoints the status of a PodGroup lists. The checkpoint files are "
            "never deleted."
        ),
    )
    degraded_gangs: DegradedGangs = Field(
        default=DegradedGangs.WAIT,
        description=(
            "What to do with a running gang that lost members and whose domain has no room "
            "for their replacements: Wait until it has, or Evict the whole gang after its "
            "schedule timeout, so that it can start elsewhere."
        ),
    )
    force_delete_stuck_pods_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "How long a pod must be stuck on a failed node before it is deleted by force. "
            "This applies only to gangs with the annotation "
            "py-gang-scheduler.io/force-delete-stuck-pods. 0: never."
        ),
    )
    claim_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long the room of a gang is reserved while the volume claims of its members "
            "are being bound."
        ),
    )
