"""The consequences of the reason why a gang waits: for the scheduler, metrics and users."""

import enum
from typing import NamedTuple


class Fixer(enum.StrEnum):
    """Who can fix it."""

    SUBMITTER = "submitter"
    """The owner of the job."""
    QUEUE_ADMIN = "queue administrator"
    PLATFORM = "platform"
    """The team that runs nodes, storage and this scheduler."""
    SCHEDULER = "no action needed"
    """It ends by itself, or is no problem."""


class RetryAfter(enum.Flag):
    """Changes, other than of the gang or its group, after which a gang is tried again."""

    NONE = 0
    NODES = enum.auto()
    """Room is freed, or a node changes: labels make layers, too."""
    TREES = enum.auto()
    """The trees of the network change."""
    QUEUES = enum.auto()
    """Queues change: a gang may need a queue, or another one, or nodes of its flavors."""
    QUOTA = enum.auto()
    """A queue of the tree holds less."""
    POOL = enum.auto()
    """The nodes change, and with them the capacity that no queue was promised."""
    VICTIMS = enum.auto()
    """A gang begins to run that it may evict."""
    TIME = enum.auto()
    """A backoff ends."""


class Strict(enum.Enum):
    """How a waiting gang affects the gangs behind it in a queue in strict order."""

    HOLDS_UP = enum.auto()
    """They wait until this gang's wait ends, as it does by itself with time."""
    TRIED_ALONG = enum.auto()
    """They may start. This gang is tried again when they are, and may then hold them up."""
    PASSED = enum.auto()
    """They may start: this gang could not, even if everything were free."""


class Room(enum.Flag):
    """How room for a gang is treated."""

    NONE = 0
    SOUGHT = enum.auto()
    """The scheduler looked for room: the gang is in the phase Scheduling."""
    MADE = enum.auto()
    """Pods leave, or will, to make room."""
    CHARGED = enum.auto()
    """The gang has quota already."""
    KEPT = enum.auto()
    """The gang keeps the room to which its members are nominated."""
    KEPT_FOR_MEMBERS = enum.auto()
    """The same, but for a limited time: the missing members may never be created."""


class Outlook(enum.Enum):
    """The outlook that `explain` gives for the start of a waiting gang."""

    NONE = enum.auto()
    """`explain` tries no changes."""
    OPEN = enum.auto()
    """The changes that help, to the gang or to the cluster, and when it starts."""
    IF_CHANGED = enum.auto()
    """The changes that help: without one of them the gang never starts."""


class Trait(enum.Flag):
    """Further facts about a gang that waits for this reason."""

    NONE = 0
    OF_QUEUE = enum.auto()
    """Only queues give this reason."""
    LAST = enum.auto()
    """The gang is last in every line: neither room nor quota would help it."""
    OWN_DOING = enum.auto()
    """Its owner could have avoided the wait."""
    PROMISED = enum.auto()
    """A queue may promise it a start once it has waited for long."""
    UNREAD = enum.auto()
    """Its number of members and its queue are unknown."""
    WARNS = enum.auto()
    """The gang may start nevertheless: then it has a condition of this type."""


class Result(enum.StrEnum):
    """The label of a refusal in the metrics of decisions."""

    UNSCHEDULABLE = "unschedulable"
    WAITING_FOR_VICTIMS = "waiting_for_victims"
    QUOTA = "quota"
    INVALID = "invalid"


class GangEvent(enum.StrEnum):
    """The reason of the Event that a waiting gang gets."""

    NONE = ""
    """No Event: the gang lacks members or other gangs, is in a line, or waits as requested."""
    PREEMPTING = "Preempting"
    """Written once, when the preemption begins."""
    FAILED_SCHEDULING = "FailedScheduling"
    INVALID_GANG = "InvalidGang"
    QUOTA_EXCEEDED = "QuotaExceeded"
    """Like InvalidGang: the gang can never start as it is, so the Event comes at once."""


class Rule(NamedTuple):
    """The consequences of a reason: the words for people, then the facts for the scheduler."""

    lead: str
    """The meaning of the reason. `explain` adds the cause."""
    meaning: str
    """Sentences of docs/reasons.md."""
    fixers: tuple[Fixer, ...]
    do: str
    """The remedy; may have Markdown links."""
    retry_after: RetryAfter
    strict: Strict
    room: Room
    outlook: Outlook
    traits: Trait
    result: Result | None
    """The metric label; None if such a gang was not decided on, or lacks members or other gangs."""
    event: GangEvent
