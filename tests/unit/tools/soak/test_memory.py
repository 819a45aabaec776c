"""The line through samples of memory."""

import os

import pytest

from tools.soak import memory
from tools.soak.memory import Sample


def samples(*sizes: int) -> list[Sample]:
    return [Sample(float(number), size) for number, size in enumerate(sizes)]


def test_a_line_without_a_slope_grows_by_nothing() -> None:
    found = memory.growth(samples(*[100] * 20))

    assert 0.0 == pytest.approx(found.share)
    assert 0.0 == pytest.approx(found.bytes_an_hour)


def test_a_line_that_rises_is_reported_by_its_ends() -> None:
    found = memory.growth(samples(*range(1000, 1101)), warm_up=0.5)

    assert (1050.0, 1100.0) == pytest.approx((found.begin_bytes, found.end_bytes))
    assert 50 / 1050 == pytest.approx(found.share)
    assert 3600.0 == pytest.approx(found.bytes_an_hour)
    assert 1100 == found.peak_bytes


def test_what_grows_while_it_warms_up_does_not_count() -> None:
    found = memory.growth(samples(*range(30), *[30] * 70))

    assert 0.0 == pytest.approx(found.share, abs=1e-9)


def test_one_high_sample_is_no_growth() -> None:
    found = memory.growth(samples(*[100] * 60, 200, *[100] * 39))

    assert abs(found.share) < 0.05


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        memory.growth(samples(1, 2))


def test_this_process_has_a_size() -> None:
    assert memory.resident_bytes(os.getpid()) > 1 << 20
