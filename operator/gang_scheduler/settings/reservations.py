"""To which gangs a start is promised, and what may pass these."""

from pydantic import BaseModel, Field


class ReservationSettings(BaseModel):
    """To which gangs a start is promised, and what may pass these."""

    reservation_after_seconds: int = Field(
        default=300,
        ge=0,
        description=(
            "How long a gang of a queue waits before it is promised a start, and before its queue "
            "is said to starve if the gang asks for no more than the queue's own quota."
        ),
    )
    reservations: int = Field(
        default=1,
        ge=0,
        le=8,
        description=(
            "How many gangs that do not fit are promised a start at once; later gangs that would "
            "delay them wait. 0: none."
        ),
    )
    reservation_timeout_seconds: int = Field(
        default=86_400,
        ge=60,
        description=(
            "After how long a gang that is promised a start loses that promise, for an hour."
        ),
    )
    backfill_window_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How far away the declared end of a gang may be to count; one that is later is as "
            "good as unknown."
        ),
    )
    enforce_backfill: bool = Field(
        default=True,
        description=(
            "Let a gang that waited evict those that were let pass because of their declared "
            "ends, once these have passed."
        ),
    )
