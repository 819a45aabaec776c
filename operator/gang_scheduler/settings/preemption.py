"""Which pods are evicted for gangs that do not fit."""

from pydantic import BaseModel, Field

from gang_scheduler.settings.values import Name


class PreemptionSettings(BaseModel):
    """Which pods are evicted for gangs that do not fit."""

    preemption: bool = Field(
        default=True,
        description="Evict pods of lower priority for gangs that do not fit otherwise.",
    )
    preempt_other_schedulers: bool = Field(
        default=False, description="Evict pods of other schedulers, too."
    )
    min_priority_difference: int = Field(
        default=1,
        ge=1,
        description="By how much the priority of a gang must be above that of the pods it evicts.",
    )
    max_victims: int = Field(
        default=0, ge=0, description="How many pods a gang may evict at once; 0: any number."
    )
    min_runtime_before_preemption_seconds: int = Field(
        default=0, ge=0, description="How long a pod must have run before it may be evicted."
    )
    max_min_runtime_seconds: int = Field(
        default=3600,
        ge=0,
        description=(
            "How much of the minimum run time counts that a gang asks for with annotation "
            "py-gang-scheduler.io/min-runtime; 0: none of it."
        ),
    )
    protection_label_namespaces: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Namespaces in which labels protect pods from preemption (a JSON list in the "
            "environment); empty: in all, so that anyone can make a pod immune."
        ),
    )
    preempt_unprotected_jobs: bool = Field(
        default=True,
        description=(
            "Evict pods also of Jobs that fail for good if all of their pods are evicted once: "
            "of more pods than backoffLimit, and without a podFailurePolicy that ignores "
            "DisruptionTarget."
        ),
    )
    use_eviction_api: bool = Field(
        default=False,
        description=(
            "Evict through the Eviction API, which refuses what a PodDisruptionBudget forbids, "
            "instead of deleting."
        ),
    )
    hide_foreign_names: bool = Field(
        default=False,
        description="Name a gang by its uid to those in other namespaces whose pods it evicts.",
    )
    victim_timeout_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long after its grace period a victim is waited for; then it is reported, and "
            "room is looked for elsewhere."
        ),
    )
    lost_work_cap_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How much work of a pod counts at most where sets of pods to evict are compared: what "
            "it did since its gang last saved its work, or since it began."
        ),
    )
