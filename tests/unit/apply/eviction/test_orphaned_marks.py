"""Marks that an earlier process left on members of a gang that is degraded.

Others: integration/test_evictor.py and integration/test_evictor_killed.py.
"""

from gang_scheduler.apply.eviction.orphaned_marks import OrphanedMarks
from gang_scheduler.model.plan import Plan
from support.degraded_gang import KEY, LATER, DegradedGang


def degraded() -> DegradedGang:
    """Return a gang that has lost a member for which there is no room."""
    gang = DegradedGang(free=0)
    gang.fails(1)
    gang.gone(1)
    gang.waits(1)
    gang.decide(LATER)
    return gang


def withdrawn(gang: DegradedGang) -> list[str]:
    found = OrphanedMarks(gang.cache).settled(Plan(), LATER)
    assert gang.cache.degraded.of(KEY, LATER) is not None
    return [pod.name for pod in found]


def test_the_mark_of_a_preemption_that_is_not_planned_again_is_orphaned() -> None:
    gang = degraded()
    gang.marks(2, starting_anew=False)

    assert ["a-2"] == withdrawn(gang)


def test_the_mark_of_a_gang_that_starts_anew_stays() -> None:
    gang = degraded()
    gang.marks(2)

    assert [] == withdrawn(gang)
