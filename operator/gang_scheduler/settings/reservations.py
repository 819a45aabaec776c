"""To which gangs a start is promised, and what may pass these."""

from pydantic import BaseModel, Field


class ReservationSettings(BaseModel):
    """To which gangs a start is promised, and what may pass these."""

    reservation_after_seconds: int = Field(
        default=300,
        ge=0,
        description=(
            "How long a gang waits in its queue before the scheduler promises it a start. A "
            "queue whose oldest gang waits this long within the queue's own quota gets the "
            "condition Starving."
        ),
    )
    reservations: int = Field(
        default=1,
        ge=0,
        le=8,
        description=(
            "How many waiting gangs can be promised a start at the same time. Later gangs "
            "that would delay a promised start wait with the reason WaitingForTurn. 0: no "
            "promises."
        ),
    )
    reservation_timeout_seconds: int = Field(
        default=86_400,
        ge=60,
        description=(
            "After how long a promise that could not be kept is withdrawn for an hour, so "
            "that a gang that never fits does not hold up others for ever."
        ),
    )
    backfill_window_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How far ahead the declared end of a gang is believed. A later end counts as unknown."
        ),
    )
    enforce_backfill: bool = Field(
        default=True,
        description=(
            "Whether a gang that waited may evict gangs that were let pass because of their "
            "declared ends, once they run beyond these."
        ),
    )
