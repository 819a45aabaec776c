"""Made jobs are the same for a seed, and as many and as large as their shape says."""

import csv

import pytest

from tools.bench import traces

JOBS, GPUS = 4000, 320


def rows(name: str, seed: int = 1, load: float = 0.9) -> list[dict[str, str]]:
    """Return made jobs by their columns."""
    return list(csv.DictReader(traces.made(traces.SHAPES[name], JOBS, GPUS, load, seed)))


@pytest.mark.parametrize("name", traces.SHAPES)
def test_a_seed_makes_the_same_jobs(name: str) -> None:
    assert rows(name) == rows(name)
    assert rows(name) != rows(name, seed=2)


@pytest.mark.parametrize("name", traces.SHAPES)
def test_one_job_in_twenty_has_several_nodes(name: str) -> None:
    several = sum(int(row["pods"]) > 1 for row in rows(name))

    assert several / JOBS == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("name", traces.SHAPES)
def test_jobs_ask_for_the_part_of_the_cluster_that_was_wanted(name: str) -> None:
    made = rows(name, load=0.5)
    work = sum(int(row["pods"]) * int(row["gpu"]) * int(row["duration"]) for row in made)

    assert work / GPUS / int(made[-1]["submit"]) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("name", traces.SHAPES)
def test_jobs_are_in_twenty_queues(name: str) -> None:
    assert 20 == len({row["queue"] for row in rows(name)})
