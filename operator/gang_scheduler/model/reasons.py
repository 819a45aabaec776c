"""Why gangs wait: the reasons, and problems that keep a gang from being tried."""

import enum
from dataclasses import dataclass
from typing import Final


class Reason(enum.StrEnum):
    """Why a gang waits: the closed list that conditions and Events use."""

    UNSCHEDULABLE = "Unschedulable"
    WAITING_FOR_MEMBERS = "WaitingForMembers"
    WAITING_FOR_GANGS = "WaitingForGangs"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    INVALID_SPEC = "InvalidSpec"
    UNKNOWN_LAYER = "UnknownLayer"
    UNSUPPORTED_FEATURE = "UnsupportedFeature"
    WAITING_FOR_VICTIMS = "WaitingForVictims"
    WAITING_FOR_VOLUMES = "WaitingForVolumes"
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_STOPPED = "QueueStopped"
    ADMISSION_DENIED = "AdmissionDenied"
    QUOTA_EXCEEDED = "QuotaExceeded"
    JOB_LIMIT_REACHED = "JobLimitReached"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    WAITING_FOR_TURN = "WaitingForTurn"
    WAITING_FOR_CHECKS = "WaitingForChecks"
    WAITING_FOR_CHECKPOINT = "WaitingForCheckpoint"
    WAITING_FOR_PROVISIONING = "WaitingForProvisioning"
    ELASTIC_LIMIT = "ElasticLimit"
    SCATTERED = "Scattered"
    SET_ASIDE = "SetAside"
    INTERNAL_ERROR = "InternalError"


BY_QUEUES: Final = frozenset(
    {
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_STOPPED,
        Reason.ADMISSION_DENIED,
        Reason.QUOTA_EXCEEDED,
        Reason.JOB_LIMIT_REACHED,
        Reason.WAITING_FOR_QUOTA,
        Reason.WAITING_FOR_TURN,
        Reason.WAITING_FOR_CHECKS,
    }
)
"""The reasons that only queues give."""

NOT_IN_LINE: Final = frozenset(
    {
        Reason.WAITING_FOR_MEMBERS,
        Reason.WAITING_FOR_GANGS,
        Reason.POD_GROUP_NOT_FOUND,
        Reason.INVALID_SPEC,
        Reason.UNKNOWN_LAYER,
        Reason.UNSUPPORTED_FEATURE,
        Reason.QUEUE_NOT_FOUND,
        Reason.SET_ASIDE,
        Reason.INTERNAL_ERROR,
    }
)
"""Gangs that wait so are last in every line: neither room nor quota would help them."""


class Cause:
    """What keeps a gang waiting, as data: see `causes` for the kinds that there are."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gang cannot even be tried."""

    reason: Reason
    cause: Cause
