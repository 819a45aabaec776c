"""Which gang comes first."""

import itertools

from builders import gang
from gang_scheduler.scheduler.ordering import priority_then_age

ORDERED = [
    gang("urgent", priority=10, created_at=9, uid="z"),
    gang("old", priority=0, created_at=1, uid="z"),
    gang("young", priority=0, created_at=2, uid="a"),
    gang("same-age", priority=0, created_at=2, uid="b"),
    gang("same-uid-1", priority=-5, uid="c"),
    gang("same-uid-2", priority=-5, uid="c"),
]


def test_priority_then_age_then_uid_then_name() -> None:
    for shuffled in itertools.islice(itertools.permutations(ORDERED), 0, 720, 7):
        found = sorted(shuffled, key=priority_then_age.key)

        assert [each.key.name for each in ORDERED] == [each.key.name for each in found]
