"""The words for admissions of suspended workloads that were not written."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.causes.admissions import (
    GangShared,
    KueueManages,
    PatchForbidden,
    TemplateGone,
    WorkloadChanged,
    WorkloadGone,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(WorkloadChanged, lambda _: "it was changed meanwhile, and is decided on anew"),
        entry(WorkloadGone, lambda _: "it was deleted"),
        entry(TemplateGone, lambda it: f"it has no pod template at {it.path} any more"),
        entry(GangShared, lambda it: f"{it.first} and {it.second} wait suspended in the same gang"),
        entry(
            KueueManages,
            lambda it: (
                f"Kueue manages it, by its Workload {it.name}, and decides when it starts: take it "
                "from Kueue, or name a LocalQueue in place of this queue"
            ),
        ),
        entry(
            PatchForbidden,
            lambda it: (
                f"py-gang-scheduler may not patch {it.kind}: the ClusterRole of the chart allows "
                "it for the kinds in settings.manageJobs"
            ),
        ),
    )
)
