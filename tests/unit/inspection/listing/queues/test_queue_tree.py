"""Bars of queues."""

import pytest

from gang_scheduler.inspection.listing import queues
from gang_scheduler.model.queues import Amounts


@pytest.mark.parametrize(
    ("amounts", "bar"),
    [
        (Amounts(), "[          ]"),
        (Amounts(nominal=10), "[----------]"),
        (Amounts(nominal=10, used=4), "[####------]"),
        (Amounts(nominal=10, used=4, lent=2), "[####----..]"),
        (Amounts(nominal=8, used=10, borrowed=2), "[########==]"),
        (Amounts(nominal=1000, used=1, lent=1), "[#--------.]"),
        (Amounts(used=5, borrowed=5), "[==========]"),
    ],
)
def test_a_bar_shows_each_part(amounts: Amounts, bar: str) -> None:
    assert bar == queues.bar(amounts)
