"""Which gang comes first."""

import itertools
from typing import Any

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.scheduler.ordering import priority_then_age
from support.builders import gang, group


def one(name: str, **fields: Any) -> GangGroup:
    return group(gang(name, **fields))


ORDERED = [
    one("urgent", priority=10, created_at=9, uid="z"),
    one("old", priority=0, created_at=1, uid="z"),
    one("young", priority=0, created_at=2, uid="a"),
    one("same-age", priority=0, created_at=2, uid="b"),
    one("same-uid-1", priority=-5, uid="c"),
    one("same-uid-2", priority=-5, uid="c"),
]


def test_priority_then_age_then_uid_then_name() -> None:
    for shuffled in itertools.islice(itertools.permutations(ORDERED), 0, 720, 7):
        found = sorted(shuffled, key=priority_then_age.key)

        assert [each.gangs[0].key.name for each in ORDERED] == [
            each.gangs[0].key.name for each in found
        ]


def test_a_gang_that_lost_members_comes_before_all_others_of_its_priority() -> None:
    lost = one("lost", priority=5, created_at=9, pods=2, bound=2, satisfied=True)
    older = one("older", priority=5, created_at=1)
    urgent = one("urgent", priority=6, created_at=10)

    found = sorted([older, lost, urgent], key=priority_then_age.key)

    assert [urgent, lost, older] == found


def test_surplus_of_a_gang_that_runs_waits_for_its_turn_by_age() -> None:
    growing = one("growing", created_at=9, pods=2, bound=2, min_member=2, satisfied=True)
    older = one("older", created_at=1)

    assert [older, growing] == sorted([growing, older], key=priority_then_age.key)
