"""Values that are the same in every cluster."""

import pytest

from gang_scheduler.inspection.snapshots import kept_words


@pytest.mark.parametrize(
    "text",
    [
        *("Ready", "Unschedulable", "NoSchedule", "Running", "WaitingForQuota", "batch/v1"),
        *("2024-05-01T12:00:00Z", "2024-05-01T12:00:00.123456Z", "10m", "1h30m", "17", "50%"),
    ],
)
def test_words_times_and_numbers_are_known(text: str) -> None:
    assert kept_words.is_api_word(text)


@pytest.mark.parametrize("text", ["Gold", "acme.com/v1", "AcmeTrainer", "10.0.0.1", "10 m", ""])
def test_other_values_are_not(text: str) -> None:
    assert not kept_words.is_api_word(text)
