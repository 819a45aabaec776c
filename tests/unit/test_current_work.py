"""What the main thread works on, as another thread sees it."""

import pytest

from gang_scheduler import current_work
from gang_scheduler.current_work import DecisionCutError, DecisionTimes, Work
from gang_scheduler.model.gangs import GangGroup
from support.builders import gang, gang_key, group


class Steps:
    """A cycle that decides what it is told to."""

    def __init__(self) -> None:
        self.deciding: GangGroup | None = None


def test_what_begins_replaces_what_began_before_of_its_kind() -> None:
    current_work.note(Work.EVENT, "Pod ns/a")
    current_work.note(Work.EVENT, "Pod ns/b")
    current_work.note(Work.REPORT, "status of ns/a")

    assert ["Pod ns/b", "status of ns/a", ""] == [
        current_work.last(each) for each in (Work.EVENT, Work.REPORT, Work.OTHER)
    ]


def test_time_goes_to_the_group_that_is_decided() -> None:
    times, steps = DecisionTimes(), Steps()
    a, b = group(gang("a")), group(gang("b"), gang("c"))
    times.begin(steps)

    for each, seconds in ((None, 9), (a, 1), (b, 2), (a, 3), (None, 9)):
        steps.deciding = each
        found = times.add(seconds)
        assert (found is None) == (each is None)

    assert {(gang_key("a"),): 4, (gang_key("b"), gang_key("c")): 2} == times.end()


def test_after_the_end_of_a_cycle_time_goes_to_none() -> None:
    times, steps = DecisionTimes(), Steps()
    steps.deciding = group(gang("a"))
    times.begin(steps)
    times.end()

    assert times.add(1) is None
    assert {} == times.end()


def test_a_cycle_that_is_begun_anew_adds_to_the_same_sums() -> None:
    times, first, second = DecisionTimes(), Steps(), Steps()
    first.deciding = second.deciding = group(gang("a"))

    for each in (first, second):
        times.begin(each)
        times.add(1)

    assert [2] == list(times.end().values())


def test_a_decision_is_cut_that_takes_too_long_and_no_other() -> None:
    times, steps = DecisionTimes(), Steps()
    times.begin(steps)
    times.cut()
    steps.deciding = group(gang("a"))
    times.add(current_work.CUT_SECONDS - 0.1)
    times.cut()
    times.add(0.2)

    with pytest.raises(DecisionCutError):
        times.cut()
    # The same decision may still be there for a moment.
    times.cut()
    steps.deciding = group(gang("b"))
    times.add(current_work.CUT_AGAIN_SECONDS)
    with pytest.raises(DecisionCutError):
        times.cut()


def test_after_the_end_of_the_cycle_nothing_is_cut() -> None:
    times, steps = DecisionTimes(), Steps()
    steps.deciding = group(gang("a"))
    times.begin(steps)
    times.add(2 * current_work.CUT_SECONDS)
    times.end()

    times.cut()
    assert not times.is_too_long()
