"""The table of membership rules: how a pod says which gang it belongs to. The first match wins.

A new rule is a line in RULES. The prefix of a new annotation must be added to `decode.pods.pod`,
and a rule whose gangs no object describes to `state.gangs.observed` (`BY_MEMBERS`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey


@dataclass(frozen=True, slots=True)
class MembershipRule:
    """One way to name a gang. `gang_of` returns the gang's name or "".

    `object_kind` is the kind of the object that must describe the gang; "" if members do, or if no
    description is needed.
    """

    name: str
    gang_of: Callable[[Pod], str]
    object_kind: str = ""


def _native(pod: Pod) -> str:
    return pod.scheduling_group


def _pod_group_label(pod: Pod) -> str:
    spellings = (annotations.POD_GROUP_LABEL, annotations.POD_GROUP_LABEL_SCHED_PLUGINS)
    return next((pod.labels[key] for key in spellings if pod.labels.get(key)), "")


def _annotation(pod: Pod) -> str:
    own = pod.annotations.get(annotations.GANG_NAME)
    return own or pod.labels.get(annotations.GANG_NAME_LABEL, "")


def _job_set(pod: Pod) -> str:
    job_set, job = pod.labels.get(JOB_SET_LABEL), pod.labels.get(REPLICATED_JOB_LABEL)
    return job_set_gang(job_set, job) if job_set and job and asks_for_gang(pod) else ""


def _job(pod: Pod) -> str:
    return pod.job if asks_for_gang(pod) else ""


def _itself(pod: Pod) -> str:
    return pod.name


def asks_for_gang(pod: Pod) -> bool:
    """Return whether a pod of a Job asks to be in a gang: by our label, or a topology request."""
    asks = pod.labels.get(annotations.JOB_GANG_LABEL) == "true"
    return asks or annotations.ask_for_topology(pod.annotations)


def job_set_gang(job_set: str, replicated_job: str) -> str:
    """Return the name of the gang of one replicatedJob. No other pair has the same name."""
    return f"{job_set}/{replicated_job}"


NATIVE = MembershipRule("scheduling.k8s.io", _native, "PodGroup")
POD_GROUP = MembershipRule("PodGroup", _pod_group_label, "PodGroup")
ANNOTATION = MembershipRule("annotation", _annotation)
JOB_SET = MembershipRule("JobSet", _job_set, "JobSet")
JOB = MembershipRule("Job", _job, "Job")
SINGLE = MembershipRule("Pod", _itself)

RULES = (NATIVE, POD_GROUP, ANNOTATION, JOB_SET, JOB, SINGLE)
BY_NAME = {rule.name: rule for rule in RULES}


def gang_of(pod: Pod) -> GangKey:
    """Return the gang of a pod; a pod with no gang is a gang of one, named after itself."""
    named = ((rule, rule.gang_of(pod)) for rule in RULES)
    rule, name = next(found for found in named if found[1])
    return GangKey(rule.name, pod.namespace, name)
