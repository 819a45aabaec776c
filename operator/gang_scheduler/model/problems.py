"""Why gangs wait: the reasons, and problems that keep a gang from being tried."""

import enum
from dataclasses import dataclass


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
    ELASTIC_LIMIT = "ElasticLimit"
    SCATTERED = "Scattered"
    INTERNAL_ERROR = "InternalError"


class Cause:
    """What keeps a gang waiting, as data: see `causes` for the kinds that there are."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gang cannot even be tried."""

    reason: Reason
    cause: Cause
