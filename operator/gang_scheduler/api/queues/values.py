"""What the fields of a Queue may hold."""

import enum
from typing import Annotated, Final

from pydantic import Field, Strict, WithJsonSchema

from gang_scheduler.api.meta import QUANTITY_PATTERN, Quantity, Text

MOST_RESOURCES: Final = 32
MOST_FLAVORS: Final = 16
MOST_QUEUES: Final = 64
MOST_EXPRESSIONS: Final = 64
"""Bounds what the rule costs that each of them must keep."""
DURATION: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
Name = Annotated[Text, Field(min_length=1, max_length=253)]
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_QUEUES)]
Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Duration = Annotated[Text, Field(max_length=32, pattern=DURATION)]
Amount = Annotated[
    Quantity,
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "pattern": QUANTITY_PATTERN.replace("(\\+|-)?", r"\+?", 1),
            "minimum": 0,
            "maxLength": 32,
        }
    ),
]
"""A quantity that is not negative. Its length bounds what rules cost that compare quantities."""
Amounts = Annotated[dict[Text, Amount], Field(max_length=MOST_RESOURCES)]


class Strategy(enum.StrEnum):
    """Whether a gang that does not fit blocks those behind it."""

    BEST_EFFORT_FIFO = "BestEffortFIFO"
    STRICT_FIFO = "StrictFIFO"


class StopPolicy(enum.StrEnum):
    """Whether a queue takes new gangs."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class Fairness(enum.StrEnum):
    """In which order queues take turns."""

    PRIORITY = "Priority"
    DRS = "DRS"
    DRF = "DRF"
    FAIR_SHARE = "FairShare"


class WithinQueue(enum.StrEnum):
    """Which gangs of its own queue a gang may evict."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"


class Reclaim(enum.StrEnum):
    """Which gangs of queues that borrow a gang may evict."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class WhileBorrowing(enum.StrEnum):
    """Which gangs of queues that borrow a gang may evict that borrows itself."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"


class WhenBorrowing(enum.StrEnum):
    """Whether the search for a flavor may end at one."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class Preference(enum.StrEnum):
    """What is better at the end of the search for a flavor."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class SelectorOperator(enum.StrEnum):
    """How the values of a label are compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
