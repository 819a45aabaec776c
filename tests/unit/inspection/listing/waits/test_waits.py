"""Why gangs wait, as it is written."""

from gang_scheduler.inspection.listing import waits
from gang_scheduler.inspection.listing.waits import Wait
from gang_scheduler.state.gangs.gang_info import GangInfo
from support import builders


def test_the_brief_form_is_the_first_sentence() -> None:
    wait = Wait("Unschedulable", "Short of 1.5 cpu on a.b/c. It would fit the empty cluster.")

    assert "Short of 1.5 cpu on a.b/c" == wait.brief


def test_without_a_status_a_member_says_why() -> None:
    info = GangInfo(builders.gang_key("g"))
    assert waits.UNKNOWN == waits.written(info)

    pod = builders.pod("p", gang="g")
    object.__setattr__(pod, "unscheduled", ("Unschedulable", "no room"))
    info.observed.upsert_member(pod)
    assert Wait("Unschedulable", "no room") == waits.written(info)
