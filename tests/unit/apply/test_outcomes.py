"""What came of writes is taken in its order, by waiting for it or all that is there."""

from gang_scheduler.apply.outcomes import ClaimsAwaited, Outcomes
from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.reasons import Reason
from support import builders


async def test_outcomes_are_taken_oldest_first() -> None:
    outcomes = Outcomes()
    of = builders.gang("a"), Reason.WAITING_FOR_VOLUMES
    put = [ClaimsAwaited(*of, ApiAnswer(text)) for text in ("1", "2", "3")]
    for each in put:
        outcomes.put(each)

    assert put == [await outcomes.next(), *outcomes.take_all()]
    assert [] == list(outcomes.take_all())
