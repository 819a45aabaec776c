"""Which pods are evicted for gangs that do not fit."""

from pydantic import BaseModel, Field

from gang_scheduler.settings.values import Name


class PreemptionSettings(BaseModel):
    """Which pods are evicted for gangs that do not fit."""

    preemption: bool = Field(
        default=True,
        description="Whether gangs that do not fit may evict pods of lower priority.",
    )
    preempt_other_schedulers: bool = Field(
        default=False, description="Whether pods of other schedulers may be evicted, too."
    )
    min_priority_difference: int = Field(
        default=1,
        ge=1,
        description="By how much the priority of a gang must exceed that of the pods it evicts.",
    )
    max_victims: int = Field(
        default=0, ge=0, description="The most pods that one gang may evict at once. 0: any number."
    )
    min_runtime_before_preemption_seconds: int = Field(
        default=0, ge=0, description="How long a pod must have run before it may be evicted."
    )
    max_min_runtime_seconds: int = Field(
        default=3600,
        ge=0,
        description=(
            "The most that a gang can ask for with the annotation "
            "py-gang-scheduler.io/min-runtime; a longer time counts as this. 0: the "
            "annotation has no effect."
        ),
    )
    protection_label_namespaces: tuple[Name, ...] = Field(
        default=(),
        description=(
            "The namespaces in which a label can protect pods from preemption (a JSON list in "
            "the environment). Empty: all namespaces, so anyone can make a pod immune."
        ),
    )
    preempt_unprotected_jobs: bool = Field(
        default=True,
        description=(
            "Whether to evict pods of Jobs that one such eviction can end for good: Jobs with "
            "more pods than backoffLimit and no podFailurePolicy that ignores "
            "DisruptionTarget."
        ),
    )
    use_eviction_api: bool = Field(
        default=False,
        description=(
            "Evict through the Eviction API instead of deleting pods. The API refuses what a "
            "PodDisruptionBudget forbids, so budgets become a hard limit."
        ),
    )
    hide_foreign_names: bool = Field(
        default=False,
        description=(
            "In messages to other namespaces, name a gang that evicts their pods by its uid "
            "instead of its name."
        ),
    )
    victim_timeout_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long to wait for a victim after its grace period. After that the scheduler "
            "reports it and looks for room elsewhere."
        ),
    )
    max_termination_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long a deleted pod may take to end and still count as leaving. A pod that "
            "takes longer counts as staying: it is evicted only where no other pod makes "
            "room, and with this grace period unless its queue allows more."
        ),
    )
    max_grace_period_seconds: int = Field(
        default=600,
        ge=0,
        description=(
            "The most that the gracePeriod of a Queue can add to the time that evicted pods "
            "get to end."
        ),
    )
    lost_work_cap_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "The most work of one pod that counts when the scheduler compares possible "
            "victims. A pod's work is the time since its gang last saved a checkpoint, or "
            "since it started."
        ),
    )
