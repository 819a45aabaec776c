"""What follows from the members and the objects of a gang, each time after one of them changed."""

from dataclasses import replace

from gang_scheduler.state.gangs.observed import Observed, Version
from support.builders import gang_key, gang_spec, pod


def test_another_priority_of_the_pod_group_counts_though_the_spec_was_read_before() -> None:
    observed = Observed(gang_key("a"), Version())
    observed.upsert_spec(gang_spec("a"))
    observed.upsert_member(pod("a-0", gang="a", priority=5))
    before = observed.ranks_apart

    observed.upsert_spec(replace(gang_spec("a"), priority=3))

    assert (3, True) == (observed.priority, not before and observed.ranks_apart)


def test_members_change_nothing_of_what_an_object_says() -> None:
    observed = Observed(gang_key("a"), Version())
    observed.upsert_spec(gang_spec("a", 2))
    before = observed.spec

    observed.upsert_member(pod("a-0", gang="a"))

    assert before is not None
    assert before is observed.spec
