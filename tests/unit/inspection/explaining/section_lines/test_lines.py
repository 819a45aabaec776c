"""The lines of each part of an explanation."""

from pathlib import Path

import pytest

from gang_scheduler.inspection.explaining import section_lines
from gang_scheduler.inspection.explaining.section_lines import View
from support.listed_clusters import Body, explained, gang, node

NODES = [node("n-0"), node("n-1")]


def of(minute: int) -> str:
    return f"2026-01-01T12:{minute:02d}:00Z"


def position(directory: Path, before: list[Body]) -> str:
    """Return POSITION of a gang that waits behind others."""
    asks = gang("asks", 3, created=of(30))
    found = explained(directory, [*NODES, *before, *asks], "team/asks")
    (line,) = section_lines.position(found, View())
    return line.text


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (
            [*gang("large", 1, gpus=16, created=of(1)), *gang("room", 2, created=of(2))],
            (
                "3rd of 3 in the cluster; the 2 before it ask for 32 nvidia.com/gpu; "
                "1 of the 2 can never start as it is"
            ),
        ),
        (
            gang("large", 1, gpus=16, created=of(1)),
            (
                "2nd of 2 in the cluster; the one before it asks for 16 nvidia.com/gpu; "
                "it can never start as it is"
            ),
        ),
        (
            gang("room", 2, created=of(2)),
            "2nd of 2 in the cluster; the one before it asks for 16 nvidia.com/gpu",
        ),
        (gang("incomplete", 2, created=of(1))[:2], "1st of 2 in the cluster"),
    ],
)
def test_gangs_before_it_that_never_start_are_reported(
    tmp_path: Path, before: list[Body], said: str
) -> None:
    assert said == position(tmp_path, before)
