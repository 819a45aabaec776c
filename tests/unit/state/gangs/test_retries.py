"""Moments at which gangs are due; when they are set is seen in test_gangs_to_try.py."""

import pytest

from gang_scheduler.state.gangs.retries import Retries
from support.builders import gang_key

KEY = gang_key("a")


@pytest.mark.parametrize(("set_before", "due"), [(None, 160), (130, 130), (170, 160), (90, 160)])
def test_a_gang_is_due_at_a_moment_unless_it_is_due_before(
    set_before: int | None, due: int
) -> None:
    retries = Retries()
    if set_before is not None:
        retries.at(KEY, set_before)

    retries.no_later(KEY, 160, now=100)

    retries.due(100)
    assert due == retries.next()
    assert set() == retries.due(due - 1)
    assert {KEY} == retries.due(due)
