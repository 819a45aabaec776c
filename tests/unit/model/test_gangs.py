"""How many members must be placed together."""

import pytest

from builders import gang, gang_key


@pytest.mark.parametrize(
    ("min_member", "bound", "quorum"), [(4, 0, 4), (4, 3, 1), (4, 4, 1), (4, 9, 1), (1, 0, 1)]
)
def test_the_quorum_is_what_is_missing(min_member: int, bound: int, quorum: int) -> None:
    found = gang("a", pods=6, min_member=min_member, bound=bound)

    assert quorum == found.quorum


def test_members_of_a_gang_that_was_whole_once_are_placed_alone() -> None:
    assert 1 == gang("a", pods=6, min_member=6, satisfied=True).quorum


def test_a_gang_is_written_as_people_write_it() -> None:
    assert "default/a" == str(gang_key("a"))
