"""Shares in columns."""

import pytest

from gang_scheduler.inspection.listing import table_layout


@pytest.mark.parametrize(
    ("written", "shown"),
    [("0.909091", "0.909"), ("0", "0"), ("1.5", "1.5"), ("12.3456", "12.346"), ("1e-07", "0")],
)
def test_a_share_has_three_digits_at_most(written: str, shown: str) -> None:
    assert shown == table_layout.short_share(written)


def test_a_share_may_be_infinite() -> None:
    assert "infinite" == table_layout.short_share(table_layout.INFINITE)
