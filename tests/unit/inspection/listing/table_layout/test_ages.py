"""Times in short."""

import pytest

from gang_scheduler.inspection.listing import table_layout


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (42, "42s"),
        (42 * 60 + 59, "42m"),
        (3 * 3600 + 12 * 60, "3h12m"),
        (3600, "1h"),
        (5 * 86400 + 4 * 3600, "5d4h"),
    ],
)
def test_ages_have_at_most_two_units(seconds: float, text: str) -> None:
    assert text == table_layout.age(seconds)


def test_a_moment_of_another_day_has_its_date() -> None:
    assert "01:00" == table_layout.moment(3600, 0)
    assert "01-02 01:00" == table_layout.moment(86400 + 3600, 0)
    assert "1971-01-01 00:00" == table_layout.moment(365 * 86400, 0)
