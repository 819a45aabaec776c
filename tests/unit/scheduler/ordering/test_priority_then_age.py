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
